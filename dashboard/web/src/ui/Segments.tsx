import type { ReactNode } from 'react';
import { cx } from './classes';
import styles from './Segments.module.css';

interface SegmentsProps<Value extends string> {
  /** What is chosen: "Time range". */
  label: string;
  options: readonly { value: Value; label: string; icon?: ReactNode }[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

/** One of a few values, side by side, one of them always chosen. */
export function Segments<Value extends string>({ label, options, chosen, onChoose }: SegmentsProps<Value>) {
  return (
    <fieldset className={styles.segments}>
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === chosen}
          className={cx(styles.segment, option.value === chosen && styles.chosen)}
          onClick={() => onChoose(option.value)}
        >
          {option.icon}
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
