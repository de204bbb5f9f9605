import { useConnection } from '../live/LiveProvider';
import type { Connection } from '../live/messages';
import { cx } from '../ui/classes';
import { useNow } from '../ui/clock';
import { formatAge } from '../ui/format';
import styles from './ConnectionState.module.css';

/** A loss shorter than this is only mentioned. */
const UNREACHABLE_AFTER_MS = 5_000;

interface Said {
  tone: 'ok' | 'warn' | 'bad';
  word: string;
  /** The whole of it, when the page can no longer be trusted to be new. */
  alarm?: string;
}

/** What a person is told about the connection. */
export function say({ phase, freshAt, reason }: Connection, now: number): Said {
  if (phase === 'live') return { tone: 'ok', word: 'Live' };
  if (phase === 'refused')
    return { tone: 'warn', word: 'Not live', alarm: `Not live: ${reason ?? 'the hub refused'}` };
  const age = freshAt === null ? null : Math.max(0, now - freshAt);
  if (phase === 'connecting' && age === null) return { tone: 'warn', word: 'Connecting…' };
  if (age !== null && age < UNREACHABLE_AFTER_MS) return { tone: 'warn', word: 'Reconnecting…' };
  const old = age === null ? 'nothing was heard from it yet' : `data is ${formatAge(age)} old`;
  return { tone: 'bad', word: 'Hub unreachable', alarm: `Hub unreachable, ${old}. Trying again by itself.` };
}

export function ConnectionPill() {
  const connection = useConnection();
  const { tone, word } = say(connection, useNow());
  return (
    <span className={cx(styles.pill, styles[tone])} title={connection.reason}>
      <span className={styles.dot} aria-hidden="true" />
      {word}
    </span>
  );
}

/** Above the page while it may show old data. */
export function ConnectionBanner() {
  const connection = useConnection();
  const { alarm, tone } = say(connection, useNow());
  return <div role="status">{alarm && <p className={cx(styles.banner, styles[tone])}>{alarm}</p>}</div>;
}
