import { memo } from 'react';
import { Link } from 'wouter';
import type { Machine, Worker } from '../../api/types';
import { MachineBadge, WorkerBadge } from '../../ui/Badge';
import { plural } from '../../ui/format';
import { Time, Unknown } from '../../ui/Values';
import { lastSeenOf, stateOf } from './entries';
import styles from './MachineCard.module.css';
import { CpuLine, DiskLine, MemoryLine } from './MetricLines';
import { JobsChip, Slots, systemOf, Tags, WorkerFacts } from './WorkerParts';

interface MachineCardProps {
  id: string;
  name: string;
  machine: Machine | null;
  worker: Worker | null;
}

/** Drawn anew only when its own machine or worker changed. */
export const MachineCard = memo(function MachineCard({ id, name, machine, worker }: MachineCardProps) {
  const entry = { id, machine, worker };
  return (
    <article className={styles.card}>
      <header className={styles.header}>
        <div className={styles.titles}>
          <h2 className={styles.name}>
            <Link href={`/fleet/${encodeURIComponent(id)}`}>{name}</Link>
          </h2>
          {name !== id && <span className={styles.id}>{id}</span>}
        </div>
        <MachineBadge state={stateOf(entry)} />
      </header>
      <p className={styles.line}>
        {worker ? systemOf(worker) : 'Sends metrics only'}
        {worker && (
          <>
            <Dot />
            {worker.version ? `v${worker.version}` : <Unknown why="It did not tell its version" />}
          </>
        )}
        <Dot />
        <Time ts={lastSeenOf(entry)} why="Never heard from" />
      </p>
      <div className={styles.metrics}>
        <CpuLine machine={machine} />
        <MemoryLine machine={machine} />
        <DiskLine machine={machine} />
      </div>
      {worker && (
        <div className={styles.worker}>
          <div className={styles.workLine}>
            <Slots worker={worker} />
            {worker.state !== 'online' && <WorkerBadge state={worker.state} small />}
            <span className={styles.grow} />
            <JobsChip worker={worker} />
          </div>
          <WorkerFacts worker={worker} />
        </div>
      )}
      {worker && worker.tags.length > 0 && (
        <Tags tags={worker.tags} label={plural(worker.tags.length, 'tag')} />
      )}
    </article>
  );
});

function Dot() {
  return <span aria-hidden="true"> · </span>;
}
