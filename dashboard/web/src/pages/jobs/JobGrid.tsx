/**
 * Any number of jobs as a grid of which only the rows in sight exist. It is one stop for Tab;
 * arrows move, Space chooses (with Shift up to here), Enter opens.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useId, useRef, useState } from 'react';
import { cx } from '../../ui/classes';
import type { Column } from './columns';
import styles from './JobGrid.module.css';
import { JobGridRow } from './JobGridRow';
import { rememberedPlace, rememberPlace } from './place';
import type { JobRow } from './row';
import { extended, NOTHING, type Selection, toggled } from './selection';
import { useIsPhone } from './useIsPhone';

const ROW_PX = 34;
const PHONE_ROW_PX = 62;
/** Rows that exist beyond those in sight. */
const OVERSCAN = 12;
/** So many rows before the end the next page is asked for. */
const READ_AHEAD = 150;

interface JobGridProps {
  label: string;
  rows: readonly JobRow[];
  columns: readonly Column[];
  /** How many match, if that is known. */
  total: number | null;
  selection: Selection;
  /** Left out where nothing can be done with a selection. */
  onSelect?: ((selection: Selection) => void) | undefined;
  onOpen: (row: JobRow) => void;
  onNearEnd: () => void;
  onVisible: (rows: readonly JobRow[], atTop: boolean) => void;
  /** Anew whenever the list should be shown from its top. */
  topKey: unknown;
}

export function JobGrid(props: JobGridProps) {
  const { label, rows, columns, total, selection, onSelect, onOpen, onNearEnd, onVisible, topKey } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const isPhone = useIsPhone();
  const rowPx = isPhone ? PHONE_ROW_PX : ROW_PX;
  const [activeId, setActiveId] = useState<string | null>(null);
  const [anchor, setAnchor] = useState<string | null>(null);
  // Whoever comes back from a job goes on where they were.
  const startTop = useRef(rememberedPlace()?.top ?? 0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? -1;
  const atTop = (virtual.scrollOffset ?? 0) < rowPx;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another row height is another layout.
  useEffect(() => virtual.measure(), [rowPx]);
  useEffect(() => onVisible(rows.slice(first, last + 1), atTop), [rows, first, last, atTop, onVisible]);
  useEffect(() => {
    if (last >= rows.length - READ_AHEAD) onNearEnd();
  }, [last, rows.length, onNearEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when it is told to, not when a row changes.
  useEffect(() => {
    virtual.scrollToOffset(startTop.current);
    startTop.current = 0;
  }, [topKey]);

  const active = activeId === null ? -1 : rows.findIndex((row) => row.id === activeId);
  const rowId = (row: JobRow) => `${id}-${row.id}`;

  function choose(row: JobRow, upToHere: boolean) {
    const from = anchor === null ? -1 : rows.findIndex((other) => other.id === anchor);
    const to = rows.indexOf(row);
    if (upToHere && from >= 0) onSelect?.(extended(selection, rows, from, to));
    else onSelect?.(toggled(selection, row.id));
    if (!upToHere || from < 0) setAnchor(row.id);
  }

  function moveTo(index: number, extend: boolean) {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[to];
    if (!row) return;
    setActiveId(row.id);
    virtual.scrollToIndex(to, { align: 'auto' });
    if (!extend) return;
    const from = anchor === null ? active : rows.findIndex((other) => other.id === anchor);
    if (anchor === null) setAnchor(rows[Math.max(0, from)]?.id ?? row.id);
    onSelect?.(extended(NOTHING, rows, Math.max(0, from), to));
  }

  function rememberThis() {
    rememberPlace({ rows: rows.length, top: virtual.scrollOffset ?? 0 });
  }

  function open(row: JobRow) {
    rememberThis();
    onOpen(row);
  }

  function onKeyDown(event: KeyboardEvent) {
    const row = rows[active];
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowPx) - 2);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: Math.max(0, active - 1),
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = steps[event.key];
    if (target !== undefined) moveTo(target, event.shiftKey);
    else if (event.key === ' ' && row) choose(row, event.shiftKey);
    else if (event.key === 'Enter' && row) open(row);
    else if (event.key === 'Escape') onSelect?.(NOTHING);
    else return;
    event.preventDefault();
  }

  function onRowClick(event: MouseEvent, row: JobRow) {
    setActiveId(row.id);
    // The keys go on from here; a row itself may scroll away with the focus.
    scroller.current?.focus({ preventScroll: true });
    if ((event.target as Element).closest('a') && !event.shiftKey) return;
    if (!onSelect) return open(row);
    event.preventDefault();
    choose(row, event.shiftKey);
  }

  // Rows are drawn anew only when they change, so what they call must stay the same.
  const newestClick = useRef(onRowClick);
  useEffect(() => {
    newestClick.current = onRowClick;
  });
  const click = useCallback((event: MouseEvent, row: JobRow) => newestClick.current(event, row), []);

  const template = [...(onSelect ? ['36px'] : []), ...columns.map((column) => column.width)].join(' ');
  const shownActive = active >= first && active <= last ? rows[active] : undefined;
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={total === null ? -1 : total + 1}
      aria-colcount={columns.length + (onSelect ? 1 : 0)}
      aria-multiselectable={onSelect ? true : undefined}
      aria-activedescendant={shownActive ? rowId(shownActive) : undefined}
      tabIndex={0}
      className={styles.scroller}
      onKeyDown={onKeyDown}
      // Before a link in a row is followed.
      onClickCapture={rememberThis}
      onFocus={() => {
        if (active < 0 && rows[first]) setActiveId(rows[first].id);
      }}
    >
      <div role="rowgroup" className={styles.head}>
        <div
          role="row"
          aria-rowindex={1}
          tabIndex={-1}
          className={styles.row}
          style={{ gridTemplateColumns: template }}
        >
          {onSelect && (
            <span role="columnheader" tabIndex={-1} className={styles.tick}>
              <span className="visually-hidden">Chosen</span>
            </span>
          )}
          {columns.map((column) => (
            <span
              key={column.title}
              role="columnheader"
              tabIndex={-1}
              className={cx(column.number && styles.number)}
            >
              {column.title}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={styles.body} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <JobGridRow
              key={row.id}
              id={rowId(row)}
              row={row}
              index={item.index}
              top={item.start}
              height={rowPx}
              template={isPhone ? undefined : template}
              columns={columns}
              chosen={onSelect ? selection.all || selection.ids.has(row.id) : null}
              active={row.id === activeId}
              onClick={click}
            />
          );
        })}
      </div>
    </div>
  );
}
