import { type InputHTMLAttributes, type ReactNode, useId } from 'react';
import styles from './Field.module.css';

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  /** Below the input: what is expected. */
  hint?: ReactNode;
  /** What is wrong with what was entered. */
  error?: string | undefined;
}

/** A labelled text input. */
export function Field({ label, hint, error, ...rest }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        className={styles.input}
        aria-invalid={error ? true : undefined}
        aria-describedby={hint || error ? noteId : undefined}
      />
      {(error || hint) && (
        <div id={noteId} className={error ? styles.error : styles.hint} role={error ? 'alert' : undefined}>
          {error ?? hint}
        </div>
      )}
    </div>
  );
}
