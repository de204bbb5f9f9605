/** A button that opens a list of actions, on the browser's own popover. */
import { type ReactNode, useId, useRef } from 'react';
import { Button } from './Button';
import { cx } from './classes';
import styles from './Menu.module.css';

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  danger?: boolean;
  onSelect: () => void;
}

interface MenuProps {
  label: string;
  icon?: ReactNode;
  items: MenuItem[];
}

export function Menu({ label, icon, items }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);

  function place() {
    const box = button.current?.getBoundingClientRect();
    const element = list.current;
    if (!box || !element) return;
    const right = document.documentElement.clientWidth - box.right;
    element.style.top = `${Math.min(box.bottom + 4, innerHeight - element.offsetHeight - 8)}px`;
    element.style.right = `${Math.max(8, right)}px`;
  }

  function focusBy(step: number) {
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  }

  return (
    <>
      <span ref={button}>
        <Button popoverTarget={id} aria-haspopup="menu" icon={icon}>
          {label}
        </Button>
      </span>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        className={styles.menu}
        onToggle={(event) => {
          if (event.newState !== 'open') return;
          place();
          list.current?.querySelector('button')?.focus();
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') focusBy(1);
          else if (event.key === 'ArrowUp') focusBy(-1);
          else return;
          event.preventDefault();
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            className={cx(styles.item, item.danger && styles.danger)}
            onClick={() => {
              list.current?.hidePopover();
              item.onSelect();
            }}
          >
            {item.icon}
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}
