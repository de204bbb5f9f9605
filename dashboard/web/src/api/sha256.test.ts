import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Sha256 } from './sha256';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const expected = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('sha256', () => {
  it('is the one of the standard', () => {
    const hash = new Sha256();
    hash.add(new TextEncoder().encode('abc'));
    expect(hex(hash.end())).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
  it('is right at every length around the ends of blocks', () => {
    for (let length = 0; length <= 200; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 131 + length) % 256);
      const hash = new Sha256();
      hash.add(bytes);
      expect(hex(hash.end()), `${length} bytes`).toBe(expected(bytes));
    }
  });
  it('does not depend on the pieces', () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => (at * at) % 251);
    const hash = new Sha256();
    for (const end of [1, 63, 64, 65, 4_000, 99_999, 100_000]) hash.add(bytes.slice(previous(end), end));
    function previous(end: number) {
      const ends = [0, 1, 63, 64, 65, 4_000, 99_999, 100_000];
      return ends[ends.indexOf(end) - 1] ?? 0;
    }
    expect(hex(hash.end())).toBe(expected(bytes));
  });
});
