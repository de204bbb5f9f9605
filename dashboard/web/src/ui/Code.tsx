import styles from './Code.module.css';
import { CopyButton } from './Copy';

/** A text to read and copy as it is: a command, a backtrace. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className={styles.block}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre className={styles.text} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div className={styles.copy}>
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  );
}
