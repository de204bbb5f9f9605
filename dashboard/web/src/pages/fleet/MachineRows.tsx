import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { cx } from '../../ui/classes';
import { Card } from '../../ui/Layout';
import { Table, Th } from '../../ui/Table';
import { type FleetEntry, nameOf } from './entries';
import { MachineRow, ROW_PX } from './MachineRow';
import styles from './MachineRow.module.css';

/** A dense table of the fleet; only the rows in sight are drawn. */
export function MachineRows({ entries }: { entries: FleetEntry[] }) {
  const list = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: entries.length,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollMargin: offset,
  });
  const rows = virtual.getVirtualItems();
  const above = (rows[0]?.start ?? offset) - offset;
  const below = virtual.getTotalSize() - ((rows.at(-1)?.end ?? offset) - offset);
  return (
    <div ref={list} className={styles.list}>
      <Card flush>
        <Table
          label="Machines"
          head={
            <>
              <Th className={styles.stateColumn}>State</Th>
              <Th>Machine</Th>
              <Th className={styles.metricColumn}>CPU</Th>
              <Th wide className={styles.metricColumn}>
                Memory
              </Th>
              <Th number className={cx(styles.large, styles.diskColumn)}>
                Disk
              </Th>
              <Th number wide className={styles.slotsColumn}>
                Slots
              </Th>
              <Th number className={styles.jobsColumn}>
                Jobs
              </Th>
              <Th className={cx(styles.large, styles.tagsColumn)}>Tags</Th>
              <Th className={cx(styles.large, styles.versionColumn)}>Version</Th>
              <Th number wide className={styles.seenColumn}>
                Last seen
              </Th>
            </>
          }
        >
          <Space height={above} />
          {rows.map((row) => {
            const entry = entries[row.index];
            return (
              entry && (
                <MachineRow
                  key={entry.id}
                  id={entry.id}
                  name={nameOf(entry)}
                  machine={entry.machine}
                  worker={entry.worker}
                />
              )
            );
          })}
          <Space height={below} />
        </Table>
      </Card>
    </div>
  );
}

/** Stands for the rows that are out of sight. */
function Space({ height }: { height: number }) {
  return height > 0 ? <tr style={{ height }} /> : null;
}
