/** The inputs of the form of a new job that are more than a line of text. */
import { type ReactNode, useId, useRef } from 'react';
import { parseExact, stringifyExact } from '../../api/exactJson';
import { Button } from '../../ui/Button';
import { cx } from '../../ui/classes';
import { type Span, UNITS, type Unit } from './draft';
import styles from './fields.module.css';
import { checkJson } from './jsonCheck';

interface NoteProps {
  id: string;
  error: string | undefined;
  hint?: ReactNode;
}

function Note({ id, error, hint }: NoteProps) {
  if (!error && !hint) return null;
  return (
    <div id={id} className={error ? styles.error : styles.hint} role={error ? 'alert' : undefined}>
      {error ?? hint}
    </div>
  );
}

const UNIT_WORDS: Record<Unit, string> = { s: 'seconds', min: 'minutes', h: 'hours', d: 'days' };

interface SpanFieldProps {
  label: string;
  span: Span;
  placeholder?: string;
  disabled?: boolean;
  hint?: ReactNode;
  error: string | undefined;
  onChange: (span: Span) => void;
}

export function SpanField({ label, span, placeholder, disabled, hint, error, onChange }: SpanFieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <div className={styles.span}>
        <input
          id={id}
          type="number"
          min={0}
          step="any"
          className={styles.input}
          placeholder={placeholder}
          disabled={disabled}
          value={span.value}
          aria-invalid={error ? true : undefined}
          aria-describedby={`${id}-note`}
          onChange={(event) => onChange({ ...span, value: event.target.value })}
        />
        <select
          className={styles.input}
          aria-label={`Unit of ${label.toLowerCase()}`}
          disabled={disabled}
          value={span.unit}
          onChange={(event) => onChange({ ...span, unit: event.target.value as Unit })}
        >
          {(Object.keys(UNITS) as Unit[]).map((unit) => (
            <option key={unit} value={unit}>
              {UNIT_WORDS[unit]}
            </option>
          ))}
        </select>
      </div>
      <Note id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  options: readonly { value: Value; label: string }[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

/** One of a few, all in sight. */
export function Choice<Value extends string>({ label, options, chosen, onChoose }: ChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset className={styles.choice}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} className={cx(styles.option, option.value === chosen && styles.chosen)}>
          <input
            type="radio"
            name={name}
            checked={option.value === chosen}
            onChange={() => onChoose(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}

interface TextAreaProps {
  label: string;
  value: string;
  rows: number;
  hint?: ReactNode;
  error: string | undefined;
  onChange: (value: string) => void;
}

export function TextArea({ label, value, rows, hint, error, onChange }: TextAreaProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className={cx(styles.input, styles.mono)}
        rows={rows}
        spellCheck={false}
        value={value}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      />
      <Note id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}

const JSON_ROWS_MIN = 8;
const JSON_ROWS_MAX = 28;

interface JsonFieldProps {
  label: string;
  value: string;
  /** What the hub said of it; what is no JSON is told while it is typed. */
  error: string | undefined;
  onChange: (value: string) => void;
}

/** JSON with numbered lines; the line that is wrong is marked, with what is wrong about it. */
export function JsonField({ label, value, error, onChange }: JsonFieldProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const mistake = checkJson(value);
  const lines = value.split('\n');
  const rows = Math.min(JSON_ROWS_MAX, Math.max(JSON_ROWS_MIN, lines.length + 1));
  const told = mistake ? `Line ${mistake.line}, column ${mistake.column}: ${mistake.message}.` : error;

  function goToMistake() {
    if (!mistake) return;
    const before = lines.slice(0, mistake.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const at = before + mistake.column - 1;
    area.current?.focus();
    area.current?.setSelectionRange(at, at + 1);
  }

  return (
    <div className={styles.field}>
      <div className={styles.head}>
        <label htmlFor={id}>{label}</label>
        <span className={styles.tools}>
          {mistake && (
            <Button look="quiet" onClick={goToMistake}>
              Go to the mistake
            </Button>
          )}
          <Button disabled={mistake !== null} onClick={() => onChange(stringifyExact(parseExact(value), 2))}>
            Format
          </Button>
        </span>
      </div>
      <div className={cx(styles.json, told && styles.invalid)}>
        <div className={styles.gutter} aria-hidden="true">
          <div ref={gutter}>
            {lines.map((_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number.
              <div key={index} className={cx(index + 1 === mistake?.line && styles.wrong)}>
                {index + 1}
              </div>
            ))}
          </div>
        </div>
        <textarea
          ref={area}
          id={id}
          rows={rows}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          value={value}
          aria-invalid={told ? true : undefined}
          aria-describedby={`${id}-note`}
          onChange={(event) => onChange(event.target.value)}
          onScroll={(event) => {
            if (gutter.current)
              gutter.current.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`;
          }}
        />
      </div>
      <div id={`${id}-note`} className={told ? styles.error : styles.hint} aria-live="polite">
        {told ?? 'JSON. Any value; numbers keep every digit.'}
      </div>
    </div>
  );
}
