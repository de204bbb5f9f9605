import styles from './Chips.module.css';
import { cx } from './classes';
import { formatShort } from './format';

interface ChipsProps<Value extends string> {
  /** What is chosen: "Status". */
  label: string;
  options: readonly { value: Value; label: string; count?: number | null }[];
  /** `null`: all of them. */
  chosen: Value | null;
  onChoose: (value: Value | null) => void;
}

/** A filter with few values, all in sight. Choosing the chosen one takes the filter away. */
export function Chips<Value extends string>({ label, options, chosen, onChoose }: ChipsProps<Value>) {
  return (
    <fieldset className={styles.chips}>
      <legend className="visually-hidden">{label}</legend>
      {options.map(({ value, label: word, count }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          className={cx(styles.chip, value === chosen && styles.chosen)}
          onClick={() => onChoose(value === chosen ? null : value)}
        >
          {word}
          {count != null && <span className={styles.count}>{formatShort(count)}</span>}
        </button>
      ))}
    </fieldset>
  );
}
