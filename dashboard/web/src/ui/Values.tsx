/** Values with a unit, and the full value on hover. */
import { cx } from './classes';
import { useNow } from './clock';
import {
  formatBytes,
  formatDuration,
  formatNumber,
  formatRelative,
  formatShort,
  formatTime,
  formatUtc,
  UNKNOWN,
} from './format';
import styles from './Values.module.css';

type Maybe = number | null | undefined;

/** Stands where a value is not known, and says so. */
export function Unknown({ why = 'Not known' }: { why?: string }) {
  return (
    <span className={styles.unknown} title={why}>
      <span aria-hidden="true">{UNKNOWN}</span>
      <span className="visually-hidden">{why}</span>
    </span>
  );
}

interface TimeProps {
  ts: Maybe;
  /** `ago`: "12 s ago", ticking. `clock`: the time in the viewer's zone. */
  as?: 'ago' | 'clock';
  why?: string;
}

/** A moment: in the viewer's zone, with UTC on hover. */
export function Time({ ts, as = 'ago', why }: TimeProps) {
  if (ts == null) return <Unknown {...(why ? { why } : {})} />;
  return as === 'ago' ? <Ago ts={ts} /> : <Moment ts={ts} text={formatTime(ts)} />;
}

function Ago({ ts }: { ts: number }) {
  return <Moment ts={ts} text={formatRelative(ts, useNow())} />;
}

function Moment({ ts, text }: { ts: number; text: string }) {
  return (
    <time
      dateTime={new Date(ts).toISOString()}
      title={`${formatTime(ts)} here · ${formatUtc(ts)}`}
      className={styles.value}
    >
      {text}
    </time>
  );
}

/** A length of time that is over. */
export function Duration({ ms, why }: { ms: Maybe; why?: string }) {
  if (ms == null) return <Unknown {...(why ? { why } : {})} />;
  return (
    <span className={styles.value} title={`${formatNumber(ms)} ms`}>
      {formatDuration(ms)}
    </span>
  );
}

/** The time since a moment, ticking. */
export function Since({ ts, why }: { ts: Maybe; why?: string }) {
  const now = useNow();
  return (
    <Duration
      ms={ts == null ? null : Math.max(0, Math.floor((now - ts) / 1_000) * 1_000)}
      {...(why ? { why } : {})}
    />
  );
}

export function Bytes({ value, why }: { value: Maybe; why?: string }) {
  if (value == null) return <Unknown {...(why ? { why } : {})} />;
  return (
    <span className={styles.value} title={`${formatNumber(value)} bytes`}>
      {formatBytes(value)}
    </span>
  );
}

/** A count; large ones are shortened unless `exact`. A zero is drawn faintly, so that the rest stands out. */
export function Count({ value, exact = false, why }: { value: Maybe; exact?: boolean; why?: string }) {
  if (value == null) return <Unknown {...(why ? { why } : {})} />;
  return (
    <span className={cx(styles.value, value === 0 && styles.zero)} title={formatNumber(value)}>
      {exact ? formatNumber(value) : formatShort(value)}
    </span>
  );
}
