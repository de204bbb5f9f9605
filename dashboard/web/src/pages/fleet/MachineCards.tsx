import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { type FleetEntry, nameOf } from './entries';
import { MachineCard } from './MachineCard';
import styles from './MachineCards.module.css';

const CARD_MIN_PX = 340;
const GAP_PX = 12;
const CARD_USUAL_PX = 250;

/** Only the cards in sight are drawn, so that a fleet of any size scrolls alike. */
export function MachineCards({ entries }: { entries: FleetEntry[] }) {
  const list = useRef<HTMLDivElement>(null);
  const columns = useColumns(list);
  const rows = Math.ceil(entries.length / columns);
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: rows,
    estimateSize: () => CARD_USUAL_PX,
    gap: GAP_PX,
    overscan: 2,
    scrollMargin: offset,
  });
  return (
    <div ref={list} role="list" aria-label="Machines">
      <div role="presentation" className={styles.space} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((row) => (
          <div
            key={row.key}
            ref={virtual.measureElement}
            data-index={row.index}
            role="presentation"
            className={styles.row}
            style={{
              gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
              transform: `translateY(${row.start - offset}px)`,
            }}
          >
            {entries.slice(row.index * columns, (row.index + 1) * columns).map((entry, at) => (
              <div
                key={entry.id}
                role="listitem"
                aria-setsize={entries.length}
                aria-posinset={row.index * columns + at + 1}
              >
                <MachineCard
                  id={entry.id}
                  name={nameOf(entry)}
                  machine={entry.machine}
                  worker={entry.worker}
                />
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function useColumns(list: React.RefObject<HTMLDivElement | null>): number {
  const [columns, setColumns] = useState(1);
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const measure = () =>
      setColumns(Math.max(1, Math.floor((element.clientWidth + GAP_PX) / (CARD_MIN_PX + GAP_PX))));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [list]);
  return columns;
}
