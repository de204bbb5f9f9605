import { memo, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { Machine, Snapshot, Worker } from '../../api/types';
import { MachineBadge, WorkerBadge } from '../../ui/Badge';
import { cx } from '../../ui/classes';
import { formatPercent, formatRate } from '../../ui/format';
import { Meter } from '../../ui/Meter';
import { Sparkline } from '../../ui/Sparkline';
import { Td } from '../../ui/Table';
import { Time, Unknown } from '../../ui/Values';
import { currentOf, lastSeenOf, sparkOf, stateOf } from './entries';
import styles from './MachineRow.module.css';
import { memoryText } from './MetricLines';
import { busySlots, JobsChip, systemOf, Tags, WorkerFacts } from './WorkerParts';

interface MachineRowProps {
  id: string;
  name: string;
  machine: Machine | null;
  worker: Worker | null;
}

/** All rows are equally high, so that those out of sight need no measuring. */
export const ROW_PX = 54;

const NO_WORKER = 'It sends metrics and runs no jobs';

/** Drawn anew only when its own machine or worker changed. */
export const MachineRow = memo(function MachineRow({ id, name, machine, worker }: MachineRowProps) {
  const entry = { id, machine, worker };
  const now = currentOf(machine);
  return (
    <tr className={styles.row} style={{ height: ROW_PX }}>
      <Td>
        <div className={styles.states}>
          <MachineBadge state={stateOf(entry)} small />
          {worker && worker.state !== 'online' && <WorkerBadge state={worker.state} small />}
        </div>
      </Td>
      <Td className={styles.machine}>
        <span className={styles.nameLine}>
          <Link href={`/fleet/${encodeURIComponent(id)}`} className={styles.name}>
            {name}
          </Link>
          <span className={styles.system}>{worker ? systemOf(worker) : 'metrics only'}</span>
        </span>
        {worker && (
          <div className={styles.facts}>
            <WorkerFacts worker={worker} />
          </div>
        )}
      </Td>
      <Metric
        label="CPU"
        machine={machine}
        pick={(snapshot) => snapshot.cpu}
        figure={formatPercent(now?.cpu)}
        meter={<Meter label="CPU" percent={now?.cpu ?? null} warnFrom={101} badFrom={101} bare />}
      />
      <Metric
        wide
        label="Memory"
        machine={machine}
        pick={(snapshot) => snapshot.memory.percent}
        figure={formatPercent(now?.memory.percent)}
        meter={
          <Meter
            label="Memory"
            percent={now?.memory.percent ?? null}
            {...(now ? { text: memoryText(now.memory) } : {})}
            bare
          />
        }
      />
      <Td number className={cx(styles.large, styles.rate)}>
        {now ? formatRate(now.disk.read + now.disk.write) : <Unknown />}
      </Td>
      <Td number wide>
        {worker ? `${busySlots(worker)} / ${worker.slots}` : <Unknown why={NO_WORKER} />}
      </Td>
      <Td number>{worker ? <JobsChip worker={worker} /> : <Unknown why={NO_WORKER} />}</Td>
      <Td className={styles.large}>
        <div className={styles.tags}>{worker && worker.tags.length > 0 && <Tags tags={worker.tags} />}</div>
      </Td>
      <Td className={styles.large}>{worker?.version ?? <Unknown why="It did not tell its version" />}</Td>
      <Td number wide>
        <Time ts={lastSeenOf(entry)} why="Never heard from" />
      </Td>
    </tr>
  );
});

interface MetricProps {
  label: string;
  machine: Machine | null;
  pick: (snapshot: Snapshot) => number;
  figure: string;
  meter: ReactNode;
  wide?: boolean;
}

function Metric({ label, machine, pick, figure, meter, wide = false }: MetricProps) {
  return (
    <Td wide={wide}>
      <div className={styles.spark}>
        <Sparkline
          values={sparkOf(machine?.history ?? [], pick)}
          label={`${label} lately`}
          max={100}
          height={18}
          width={80}
        />
        <span className={styles.figure}>{figure}</span>
      </div>
      {meter}
    </Td>
  );
}
