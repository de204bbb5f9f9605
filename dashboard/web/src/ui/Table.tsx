/** Tables with one look. Long lists use the same classes on rows that a virtualizer places. */
import type { ReactNode, TdHTMLAttributes, ThHTMLAttributes } from 'react';
import { cx } from './classes';
import styles from './Table.module.css';

interface TableProps {
  /** What the table shows, for screen readers. */
  label: string;
  head: ReactNode;
  children: ReactNode;
}

export function Table({ label, head, children }: TableProps) {
  return (
    <table className={styles.table} aria-label={label}>
      <thead>
        <tr>{head}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

interface ThProps extends ThHTMLAttributes<HTMLTableCellElement> {
  number?: boolean;
  /** Not shown on phones. */
  wide?: boolean;
}

export function Th({ number = false, wide = false, className, ...rest }: ThProps) {
  return <th scope="col" {...rest} className={cx(number && styles.number, wide && styles.wide, className)} />;
}

interface TdProps extends TdHTMLAttributes<HTMLTableCellElement> {
  number?: boolean;
  wide?: boolean;
}

export function Td({ number = false, wide = false, className, ...rest }: TdProps) {
  return <td {...rest} className={cx(number && styles.number, wide && styles.wide, className)} />;
}
