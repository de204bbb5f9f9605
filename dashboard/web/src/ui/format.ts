/**
 * Numbers as people read them. What is not known is `UNKNOWN`, never 0: a zero that nobody measured
 * is a lie.
 */
export const UNKNOWN = '–';

type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** 12,345 */
export function formatNumber(value: Maybe): string {
  return known(value) ? whole.format(value) : UNKNOWN;
}

/** 12.3K from 10,000 on, for places where the exact figure is beside or on hover. */
export function formatShort(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
}

export function formatPercent(value: Maybe, digits = 0): string {
  return known(value) ? `${value.toFixed(digits)} %` : UNKNOWN;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(size) >= 100 ? 0 : 1;
  return `${size.toFixed(digits)} ${BYTE_UNITS[unit]}`;
}

/** Mebibytes a second, as machines report disk and network. */
export function formatRate(mib: Maybe): string {
  return known(mib) ? `${formatBytes(mib * 1024 * 1024)}/s` : UNKNOWN;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Two units at most: 340 ms, 4.2 s, 3 min 20 s, 5 h 12 min, 3 d 4 h. */
export function formatDuration(ms: Maybe): string {
  if (!known(ms)) return UNKNOWN;
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return twoUnits(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return twoUnits(ms, HOUR, 'h', MINUTE, 'min');
  return twoUnits(ms, DAY, 'd', HOUR, 'h');
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const first = Math.floor(ms / large);
  const second = Math.floor((ms % large) / small);
  return second === 0 ? `${first} ${largeName}` : `${first} ${largeName} ${second} ${smallName}`;
}

/** One unit, for ages that tick: 12 s, 4 min, 3 h, 2 d. */
export function formatAge(ms: Maybe): string {
  if (!known(ms)) return UNKNOWN;
  const age = Math.max(0, ms);
  if (age < MINUTE) return `${Math.floor(age / SECOND)} s`;
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
  if (age < DAY) return `${Math.floor(age / HOUR)} h`;
  return `${Math.floor(age / DAY)} d`;
}

/** "12 s ago", "in 4 min", "now". */
export function formatRelative(ts: Maybe, now: number): string {
  if (!known(ts)) return UNKNOWN;
  const age = now - ts;
  if (Math.abs(age) < SECOND) return 'now';
  return age > 0 ? `${formatAge(age)} ago` : `in ${formatAge(-age)}`;
}

/** In the viewer's zone; with the date unless it is today. */
export function formatTime(ts: Maybe, now: number = Date.now()): string {
  if (!known(ts)) return UNKNOWN;
  const date = new Date(ts);
  const time = date.toLocaleTimeString('en-GB');
  return date.toDateString() === new Date(now).toDateString() ? time : `${formatDate(ts)} ${time}`;
}

/** 16 Nov 2026, in the viewer's zone. */
export function formatDate(ts: Maybe): string {
  if (!known(ts)) return UNKNOWN;
  return new Date(ts).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** 2026-11-16 13:05:09.120 UTC */
export function formatUtc(ts: Maybe): string {
  return known(ts) ? new Date(ts).toISOString().replace('T', ' ').replace('Z', ' UTC') : UNKNOWN;
}

/** "1 job", "3 jobs". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
