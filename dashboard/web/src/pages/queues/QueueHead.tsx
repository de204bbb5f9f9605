import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide-react';
import { cx } from '../../ui/classes';
import { Th } from '../../ui/Table';
import styles from './QueuesPage.module.css';
import type { Column, Order } from './sorting';

interface QueueHeadProps {
  order: Order;
  onSort: (column: Column) => void;
}

const HEADS: { column: Column; label: string; wide?: boolean }[] = [
  { column: 'name', label: 'Queue' },
  { column: 'due', label: 'Due' },
  { column: 'running', label: 'Running' },
  { column: 'scheduled', label: 'Scheduled', wide: true },
  { column: 'wait', label: 'Oldest wait' },
  { column: 'completed', label: 'Completed, 1 h', wide: true },
  { column: 'failed', label: 'Failed, 1 h', wide: true },
];

export function QueueHead({ order, onSort }: QueueHeadProps) {
  return HEADS.map(({ column, label, wide = false }) => {
    const isSorted = order.column === column;
    const Arrow = isSorted ? (order.descending ? ArrowDown : ArrowUp) : ArrowUpDown;
    return (
      <Th
        key={column}
        number={column !== 'name'}
        wide={wide}
        className={column === 'due' ? styles.depth : undefined}
        aria-sort={isSorted ? (order.descending ? 'descending' : 'ascending') : 'none'}
      >
        <button type="button" className={styles.sort} onClick={() => onSort(column)}>
          {label}
          <Arrow
            aria-hidden="true"
            className={cx(!isSorted && styles.idle, column !== 'name' && styles.before)}
          />
        </button>
      </Th>
    );
  });
}
