import { cx } from './classes';
import { formatPercent, UNKNOWN } from './format';
import styles from './Meter.module.css';

interface MeterProps {
  label: string;
  /** 0 to 100; unknown draws an empty, dashed bar. */
  percent: number | null | undefined;
  /** In place of the percentage. */
  text?: string;
  /** From here on it is drawn as a warning. */
  warnFrom?: number;
  badFrom?: number;
  /** Without the words, where a table's columns have them. */
  bare?: boolean;
}

export function Meter({ label, percent, text, warnFrom = 80, badFrom = 95, bare = false }: MeterProps) {
  const known = percent != null && Number.isFinite(percent);
  const value = known ? Math.min(100, Math.max(0, percent)) : 0;
  const shown = text ?? formatPercent(percent);
  const tone = value >= badFrom ? styles.bad : value >= warnFrom ? styles.warn : styles.ok;
  return (
    <div className={styles.meter} title={known ? `${label}: ${shown}` : `${label}: not known`}>
      {!bare && (
        <div className={styles.words}>
          <span>{label}</span>
          <span className={styles.figure}>{known ? shown : UNKNOWN}</span>
        </div>
      )}
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={known ? Math.round(value) : 0}
        aria-valuetext={known ? shown : 'not known'}
        className={cx(styles.track, !known && styles.unknown)}
      >
        <div className={cx(styles.bar, tone)} style={{ width: `${value}%` }} />
      </div>
    </div>
  );
}
