import { type SelectHTMLAttributes, useId } from 'react';
import { cx } from './classes';
import styles from './Select.module.css';

interface SelectProps<Value extends string>
  extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> {
  label: string;
  options: readonly { value: Value; label: string }[];
  value: Value;
  onChoose: (value: Value) => void;
  /** The label before it, in one line, for rows of filters. */
  inline?: boolean;
}

/** A labelled choice of one among several. */
export function Select<Value extends string>({
  label,
  options,
  value,
  onChoose,
  inline = false,
  ...rest
}: SelectProps<Value>) {
  const id = useId();
  return (
    <div className={cx(styles.field, inline && styles.inline)}>
      <label htmlFor={id}>{label}</label>
      <select
        {...rest}
        id={id}
        className={styles.select}
        value={value}
        onChange={(event) => onChoose(event.target.value as Value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
