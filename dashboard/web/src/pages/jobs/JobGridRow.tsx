import { type MouseEvent, memo } from 'react';
import { cx } from '../../ui/classes';
import type { Column } from './columns';
import styles from './JobGrid.module.css';
import type { JobRow } from './row';

interface JobGridRowProps {
  id: string;
  row: JobRow;
  /** Its place in the list, from 0. */
  index: number;
  top: number;
  height: number;
  template: string | undefined;
  columns: readonly Column[];
  /** `null` where nothing can be chosen. */
  chosen: boolean | null;
  active: boolean;
  onClick: (event: MouseEvent, row: JobRow) => void;
}

export const JobGridRow = memo(function JobGridRow(props: JobGridRowProps) {
  const { id, row, index, top, height, template, columns, chosen, active, onClick } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys for its active row.
    <div
      id={id}
      role="row"
      tabIndex={-1}
      // The row of titles is the first.
      aria-rowindex={index + 2}
      aria-selected={chosen ?? undefined}
      className={cx(
        styles.row,
        styles.job,
        chosen && styles.chosen,
        active && styles.active,
        chosen !== null && styles.withTick,
      )}
      style={{ gridTemplateColumns: template, height, transform: `translateY(${top}px)` }}
      onMouseDown={(event) => {
        // Shift selects rows here, not text.
        if (event.shiftKey) event.preventDefault();
      }}
      onClick={(event) => onClick(event, row)}
    >
      {chosen !== null && (
        <span role="gridcell" tabIndex={-1} className={styles.tick}>
          <span className={cx(styles.box, chosen && styles.checked)} aria-hidden="true" />
        </span>
      )}
      {columns.map((column) => (
        <span
          key={column.title}
          role="gridcell"
          tabIndex={-1}
          className={cx(
            styles.cell,
            column.number && styles.number,
            column.phone ? styles[column.phone] : styles.wide,
          )}
        >
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
});
