import { useState } from 'react';
import { ExactNumber, stringifyExact } from '../api/exactJson';
import styles from './Code.module.css';
import { CopyButton } from './Copy';
import { cx } from './classes';

/** Deeper levels begin closed. */
const OPEN_DEPTH = 2;
/** Children shown at once; the rest on request, so that a huge array does not stop the page. */
const CHILDREN_STEP = 100;

/** A JSON value as a tree that opens and closes, with copy. Text is always text, never HTML. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    <div className={styles.block}>
      <div className={styles.tree} role="group" aria-label={label}>
        <Value value={value} depth={0} />
      </div>
      <div className={styles.copy}>
        <CopyButton text={stringifyExact(value, 2)} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  );
}

interface ValueProps {
  name?: string;
  value: unknown;
  depth: number;
}

function Value({ name, value, depth }: ValueProps) {
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber))
    return <Branch {...(name === undefined ? {} : { name })} value={value} depth={depth} />;
  return (
    <div className={styles.leaf}>
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span className={styles.name}>{name}: </span>;
}

function Leaf({ value }: { value: unknown }) {
  const kind =
    value === null || value === undefined
      ? 'nothing'
      : value instanceof ExactNumber
        ? 'number'
        : typeof value;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return <span className={cx(styles.value, styles[kind])}>{text}</span>;
}

function Branch({ name, value, depth }: { name?: string; value: object; depth: number }) {
  const [shown, setShown] = useState(CHILDREN_STEP);
  const entries = Object.entries(value);
  const isArray = Array.isArray(value);
  const [open, close] = isArray ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) {
    return (
      <div className={styles.leaf}>
        <Name name={name} />
        {open}
        {close}
      </div>
    );
  }
  return (
    <details open={depth < OPEN_DEPTH} className={styles.branch}>
      <summary>
        <Name name={name} />
        {open}
        <span className={styles.size}>
          {entries.length} {entries.length === 1 ? 'entry' : 'entries'}
        </span>
        {close}
      </summary>
      <div className={styles.children}>
        {entries.slice(0, shown).map(([key, child]) => (
          <Value key={key} name={key} value={child} depth={depth + 1} />
        ))}
        {entries.length > shown && (
          <button type="button" className={styles.more} onClick={() => setShown(shown + CHILDREN_STEP)}>
            Show {Math.min(CHILDREN_STEP, entries.length - shown)} more of {entries.length}
          </button>
        )}
      </div>
    </details>
  );
}
