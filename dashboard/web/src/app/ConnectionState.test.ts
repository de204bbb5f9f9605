import { expect, it } from 'vitest';
import { say } from './ConnectionState';

it.each([
  [{ phase: 'live', freshAt: 0 } as const, 'Live', undefined],
  [{ phase: 'connecting', freshAt: null } as const, 'Connecting…', undefined],
  [{ phase: 'down', freshAt: 98_000 } as const, 'Reconnecting…', undefined],
  [
    { phase: 'down', freshAt: 58_000 } as const,
    'Hub unreachable',
    'Hub unreachable, data is 42 s old. Trying again by itself.',
  ],
  [
    { phase: 'down', freshAt: null } as const,
    'Hub unreachable',
    'Hub unreachable, nothing was heard from it yet. Trying again by itself.',
  ],
  [{ phase: 'refused', freshAt: null, reason: 'no scope' } as const, 'Not live', 'Not live: no scope'],
])('%o is told as it is', (connection, word, alarm) => {
  expect(say(connection, 100_000)).toMatchObject({ word });
  expect(say(connection, 100_000).alarm).toBe(alarm);
});
