import styles from './Settings.module.css';

/** Longer ones are cut where room is short. */
const SHORT_MAX = 12;

/** An id or a checksum; on phones its beginning, with all of it on a long press. */
export function LongId({ id }: { id: string }) {
  if (id.length <= SHORT_MAX * 2) return <span className={styles.id}>{id}</span>;
  return (
    <span className={styles.id} title={id}>
      <span className={styles.long}>{id}</span>
      <span className={styles.short}>{id.slice(0, SHORT_MAX)}…</span>
    </span>
  );
}
