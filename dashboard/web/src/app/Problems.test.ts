import { expect, it } from 'vitest';
import { tell } from './Problems';

it('says what is wrong and for how long', () => {
  const problem = { code: 'disk_full', message: 'the disk is full: free some space', since: 1_000 };
  expect(tell(problem, 61_000)).toBe('The disk is full: free some space. For 1 min.');
  expect(tell(problem, 0)).toBe('The disk is full: free some space. For 0 s.');
});
