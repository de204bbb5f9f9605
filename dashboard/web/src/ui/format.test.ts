import { describe, expect, it } from 'vitest';
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRate,
  formatRelative,
  formatShort,
  formatTime,
  formatUtc,
  plural,
  UNKNOWN,
} from './format';

describe('what is not known', () => {
  it.each([
    formatNumber,
    formatShort,
    formatPercent,
    formatBytes,
    formatRate,
    formatDuration,
    formatAge,
    formatTime,
    formatUtc,
  ])('is never a zero in %o', (format) => {
    for (const nothing of [null, undefined, Number.NaN]) expect(format(nothing)).toBe(UNKNOWN);
    expect(format(0)).not.toBe(UNKNOWN);
  });
  it('has no age', () => expect(formatRelative(null, 5)).toBe(UNKNOWN));
});

describe('numbers', () => {
  it.each([
    [0, '0', '0'],
    [9_999, '9,999', '9,999'],
    [12_345, '12,345', '12.3K'],
    [1_000_000, '1,000,000', '1M'],
  ])('%d', (value, whole, short) => {
    expect(formatNumber(value)).toBe(whole);
    expect(formatShort(value)).toBe(short);
  });
  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KiB'],
    [150 * 1024 ** 2, '150 MiB'],
    [5 * 1024 ** 4, '5.0 TiB'],
  ])('%d bytes', (value, text) => expect(formatBytes(value)).toBe(text));
  it('counts things', () => {
    expect(plural(1, 'job')).toBe('1 job');
    expect(plural(1_200, 'job')).toBe('1,200 jobs');
  });
});

describe('times', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [4_250, '4.2 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [200_000, '3 min 20 s'],
    [3_600_000 * 5 + 60_000 * 12, '5 h 12 min'],
    [86_400_000 * 3 + 3_600_000 * 4, '3 d 4 h'],
    [-1_500, '-1.5 s'],
  ])('%d ms', (ms, text) => expect(formatDuration(ms)).toBe(text));
  it('tells past from future', () => {
    expect(formatRelative(1_000, 13_000)).toBe('12 s ago');
    expect(formatRelative(13_000, 1_000)).toBe('in 12 s');
    expect(formatRelative(1_000, 1_400)).toBe('now');
  });
  it('names the zone where it is not the viewer’s', () => {
    expect(formatUtc(Date.UTC(2026, 10, 16, 13, 5, 9, 120))).toBe('2026-11-16 13:05:09.120 UTC');
  });
  it('adds the date on another day', () => {
    const ts = new Date(2026, 10, 16, 13, 5, 9).getTime();
    expect(formatTime(ts, ts)).toBe('13:05:09');
    expect(formatTime(ts, ts + 3 * 86_400_000)).toBe('16 Nov 2026 13:05:09');
  });
});
