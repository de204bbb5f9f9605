import { type ReactNode, useEffect, useId } from 'react';
import { cx } from './classes';
import styles from './Tabs.module.css';

interface TabsProps<Value extends string> {
  label: string;
  tabs: readonly { value: Value; label: string }[];
  chosen: Value;
  onChoose: (value: Value) => void;
  children: ReactNode;
}

/** Tabs and the panel of the chosen one; arrow keys move between them. */
export function Tabs<Value extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<Value>) {
  const id = useId();
  // On a phone not all tabs are in sight.
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' });
  }, [id, chosen]);
  function move(step: number) {
    const at = tabs.findIndex((tab) => tab.value === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.value);
    document.getElementById(`${id}-${next.value}`)?.focus();
  }
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        className={styles.list}
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight') move(1);
          else if (event.key === 'ArrowLeft') move(-1);
        }}
      >
        {tabs.map((tab) => (
          <button
            key={tab.value}
            id={`${id}-${tab.value}`}
            type="button"
            role="tab"
            aria-selected={tab.value === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab.value === chosen ? 0 : -1}
            className={cx(styles.tab, tab.value === chosen && styles.chosen)}
            onClick={() => onChoose(tab.value)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
