/** Names and what is known of them. */
import type { ReactNode } from 'react';
import { cx } from './classes';
import styles from './Facts.module.css';

interface FactListProps {
  /** Beside each other where there is room, rather than one below the other. */
  wide?: boolean;
  className?: string | undefined;
  children: ReactNode;
}

export function FactList({ wide = false, className, children }: FactListProps) {
  return <dl className={cx(styles.facts, wide && styles.wide, className)}>{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
