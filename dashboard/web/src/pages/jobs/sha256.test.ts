import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { ownSha256 } from './sha256';

it('is the same as everybody else’s, around every border of a block', () => {
  for (const length of [0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1_000, 100_003]) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + length) % 256);
    const expected = createHash('sha256').update(bytes).digest('hex');
    expect([length, Buffer.from(ownSha256(bytes)).toString('hex')]).toEqual([length, expected]);
  }
});
