import { useQuery } from '@tanstack/react-query';
import { ServerOff } from 'lucide-react';
import { Link, useParams } from 'wouter';
import { queries } from '../../api/queries';
import { MachineBadge, WorkerBadge } from '../../ui/Badge';
import { LinkButton } from '../../ui/Button';
import { formatPercent, formatRate, UNKNOWN } from '../../ui/format';
import { Card, Page } from '../../ui/Layout';
import { LateCode, useLate } from '../../ui/late';
import { Meter } from '../../ui/Meter';
import { Stat } from '../../ui/Stat';
import { Empty, Loaded, Skeleton } from '../../ui/States';
import { Time } from '../../ui/Values';
import { currentOf, type FleetEntry, joinFleet, lastSeenOf, nameOf, stateOf } from './entries';
import styles from './MachinePage.module.css';
import { WorkerActions } from './machine/Actions';
import { Facts } from './machine/Facts';
import { HeldJobs } from './machine/HeldJobs';
import { busySlots, runningHref, systemOf } from './WorkerParts';

/** Charts come with a library of their own, which the figures above need not wait for. */
const historyCode = new LateCode(() => import('./machine/History'));
void historyCode.load();

export default function MachinePage() {
  const id = useParams<{ id: string }>().id;
  const fleet = useQuery(queries.fleet());
  const workers = useQuery(queries.workers());
  const all = fleet.data && workers.data ? joinFleet(fleet.data, workers.data) : undefined;
  const entry = all?.find((one) => one.id === id);
  return (
    <Page
      title={entry ? nameOf(entry) : id}
      crumb={<Link href="/fleet">Fleet</Link>}
      aside={
        entry && (
          <>
            <MachineBadge state={stateOf(entry)} />
            {entry.worker && entry.worker.state !== 'online' && <WorkerBadge state={entry.worker.state} />}
            <span className={styles.seen}>
              {entry.worker && `${systemOf(entry.worker)} · `}
              heard from <Time ts={lastSeenOf(entry)} why="never" />
            </span>
          </>
        )
      }
      actions={entry?.worker && <WorkerActions worker={entry.worker} hasMetrics={entry.machine !== null} />}
    >
      <Loaded
        query={{
          data: all,
          error: fleet.error ?? workers.error,
          refetch: () => Promise.all([fleet.refetch(), workers.refetch()]),
        }}
        failure="The machine could not be read"
        loading={<Skeleton lines={8} height={24} />}
      >
        {() => (entry ? <Known entry={entry} /> : <NoMachine id={id} />)}
      </Loaded>
    </Page>
  );
}

function Known({ entry }: { entry: FleetEntry }) {
  const { id, machine, worker } = entry;
  const History = useLate(historyCode);
  return (
    <>
      <Figures entry={entry} />
      {worker && <HeldJobs workerId={id} />}
      {machine &&
        (History ? <History id={id} isWorker={worker !== null} /> : <Skeleton lines={6} height={60} />)}
      <Facts id={id} machine={machine} worker={worker} />
    </>
  );
}

function Figures({ entry: { machine, worker } }: { entry: FleetEntry }) {
  const now = currentOf(machine);
  return (
    <div className={styles.figures}>
      <Card>
        <Stat label="CPU" value={<Figure text={formatPercent(now?.cpu)} />} />
        <Meter label="CPU" percent={now?.cpu ?? null} warnFrom={101} badFrom={101} bare />
      </Card>
      <Card>
        <Stat
          label="Memory"
          value={<Figure text={now ? `${now.memory.used.toFixed(1)} GiB` : UNKNOWN} />}
          note={now && `of ${now.memory.total.toFixed(1)} GiB`}
        />
        <Meter label="Memory" percent={now?.memory.percent ?? null} bare />
      </Card>
      <Card>
        <Stat
          label="Disk"
          value={<Figure text={formatRate(now && now.disk.read + now.disk.write)} />}
          note={now && `${formatRate(now.disk.read)} read · ${formatRate(now.disk.write)} write`}
        />
      </Card>
      <Card>
        <Stat
          label="Network"
          value={<Figure text={formatRate(now && now.network.rx + now.network.tx)} />}
          note={now && `${formatRate(now.network.rx)} in · ${formatRate(now.network.tx)} out`}
        />
      </Card>
      <Card>
        <Stat
          label="Load, 1 min"
          value={now ? now.load.avg1.toFixed(2) : UNKNOWN}
          note={now && `${now.load.avg5.toFixed(2)} · ${now.load.avg15.toFixed(2)} over 5 and 15 min`}
        />
      </Card>
      <Card>
        {worker ? (
          <>
            <Stat
              label="Slots busy"
              href={runningHref(worker.id)}
              value={
                <>
                  {busySlots(worker)}
                  <span className={styles.of}> of {worker.slots}</span>
                </>
              }
            />
            <Meter
              label="Slots busy"
              percent={worker.slots === 0 ? null : (busySlots(worker) / worker.slots) * 100}
              warnFrom={101}
              badFrom={101}
              bare
            />
          </>
        ) : (
          <Stat label="Slots" value={UNKNOWN} note="Sends metrics, runs no jobs" />
        )}
      </Card>
    </div>
  );
}

/** A number that can be read from afar, with its unit smaller. */
function Figure({ text }: { text: string }) {
  const [figure, unit] = text.split(' ');
  return (
    <>
      {figure}
      {unit && <span className={styles.of}> {unit}</span>}
    </>
  );
}

function NoMachine({ id }: { id: string }) {
  return (
    <Empty
      title={`No machine has the id “${id}”`}
      icon={<ServerOff />}
      action={<LinkButton href="/fleet">All machines</LinkButton>}
    >
      It may have been forgotten, or never have reached this hub.
    </Empty>
  );
}
