/** Checksums of files, in the browser. */

/** Larger files are read in pieces of this size where the browser does not hash by itself. */
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * The sha256 of a file, as hex digits. Browsers hash only for pages that came by https or from
 * this computer; elsewhere this does, slower and in pieces.
 */
export async function sha256Of(file: Blob): Promise<string> {
  if (globalThis.crypto?.subtle) {
    return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer())));
  }
  const hash = new Sha256();
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    hash.add(new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer()));
  }
  return hex(hash.end());
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional part of a root of each of the first primes, as FIPS 180-4 has them. */
function rootsOfPrimes(count: number, root: (prime: number) => number): Uint32Array {
  const bits = new Uint32Array(count);
  let found = 0;
  for (let candidate = 2; found < count; candidate++) {
    let isPrime = true;
    for (let by = 2; by * by <= candidate; by++) if (candidate % by === 0) isPrime = false;
    if (isPrime) bits[found++] = (root(candidate) % 1) * 2 ** 32;
  }
  return bits;
}

const ROUND_KEYS = rootsOfPrimes(64, Math.cbrt);

/** SHA-256 (FIPS 180-4) of bytes that come in pieces. */
export class Sha256 {
  #state = rootsOfPrimes(8, Math.sqrt);
  #schedule = new Uint32Array(64);
  #rest = new Uint8Array(0);
  #bytes = 0;

  add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    const all = new Uint8Array(this.#rest.length + piece.length);
    all.set(this.#rest);
    all.set(piece, this.#rest.length);
    const whole = all.length - (all.length % BLOCK_BYTES);
    const view = new DataView(all.buffer);
    for (let at = 0; at < whole; at += BLOCK_BYTES) this.#block(view, at);
    this.#rest = all.slice(whole);
  }

  /** The checksum; nothing may be added afterwards. */
  end(): Uint8Array {
    const bits = this.#bytes * 8;
    const padding = new Uint8Array(BLOCK_BYTES * (this.#rest.length < 56 ? 1 : 2) - this.#rest.length);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.add(padding);
    const result = new DataView(new ArrayBuffer(32));
    for (const [at, word] of this.#state.entries()) result.setUint32(at * 4, word);
    return new Uint8Array(result.buffer);
  }

  #block(view: DataView, at: number): void {
    const w = this.#schedule;
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i++) {
      const before = w[i - 15] as number;
      const after = w[i - 2] as number;
      const s0 = rotate(before, 7) ^ rotate(before, 18) ^ (before >>> 3);
      const s1 = rotate(after, 17) ^ rotate(after, 19) ^ (after >>> 10);
      w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1;
    }
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as Eight;
    for (let i = 0; i < 64; i++) {
      const mix = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const choice = (e & f) ^ (~e & g);
      const first = (h + mix + choice + (ROUND_KEYS[i] as number) + (w[i] as number)) | 0;
      const turn = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + turn + majority) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => {
      this.#state[i] = (this.#state[i] as number) + word;
    });
  }
}

type Eight = [number, number, number, number, number, number, number, number];

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
