/** The parts every page is laid out with. */
import { type ReactNode, useEffect, useId } from 'react';
import { cx } from './classes';
import styles from './Layout.module.css';

interface PageProps {
  title: string;
  /** Beside the title: a badge, a count. */
  aside?: ReactNode;
  /** Buttons, at the right. */
  actions?: ReactNode;
  /** Above the title: where this page belongs. */
  crumb?: ReactNode;
  /** As high as the window, for a page whose content scrolls by itself. */
  fill?: boolean;
  children: ReactNode;
}

export function Page({ title, aside, actions, crumb, fill = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Forge Fleet`;
  }, [title]);
  return (
    <div className={cx(styles.page, fill && styles.fill)}>
      <header className={styles.header}>
        <div className={styles.titles}>
          {crumb && <div className={styles.crumb}>{crumb}</div>}
          <div className={styles.titleLine}>
            <h1 className={styles.title}>{title}</h1>
            {aside}
          </div>
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  title?: ReactNode;
  /** At the right of the title. */
  aside?: ReactNode;
  /** Without padding, for tables that reach the edges. */
  flush?: boolean;
  className?: string | undefined;
  children: ReactNode;
}

export function Card({ title, aside, flush = false, className, children }: CardProps) {
  const id = useId();
  return (
    <section className={cx(styles.card, className)} aria-labelledby={title ? id : undefined}>
      {title && (
        <header className={styles.cardHeader}>
          <h2 id={id} className={styles.cardTitle}>
            {title}
          </h2>
          {aside && <div className={styles.cardAside}>{aside}</div>}
        </header>
      )}
      <div className={cx(styles.cardBody, flush && styles.flush)}>{children}</div>
    </section>
  );
}

/** Cards side by side, as many as fit. */
export function Grid({ min = 280, children }: { min?: number; children: ReactNode }) {
  return (
    <div
      className={styles.grid}
      style={{ gridTemplateColumns: `repeat(auto-fill, minmax(min(${min}px, 100%), 1fr))` }}
    >
      {children}
    </div>
  );
}

/** Things in a row that wraps. */
export function Row({ children, className }: { children: ReactNode; className?: string }) {
  return <div className={cx(styles.row, className)}>{children}</div>;
}
