import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { cx } from './classes';
import styles from './Stat.module.css';

interface StatProps {
  label: string;
  value: ReactNode;
  /** Below the figure, smaller. */
  note?: ReactNode;
  /** Where the figure comes from. */
  href?: string;
  tone?: 'ok' | 'warn' | 'bad' | 'dead';
}

/** One figure that can be read from across the room. */
export function Stat({ label, value, note, href, tone }: StatProps) {
  const content = (
    <>
      <span className={styles.label}>{label}</span>
      <span className={cx(styles.value, tone && styles[tone])}>{value}</span>
      {note && <span className={styles.note}>{note}</span>}
    </>
  );
  return href ? (
    <Link href={href} className={cx(styles.stat, styles.link)}>
      {content}
    </Link>
  ) : (
    <div className={styles.stat}>{content}</div>
  );
}
