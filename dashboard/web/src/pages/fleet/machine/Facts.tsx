import type { Gpu, Machine, Worker } from '../../../api/types';
import { Fact, FactList } from '../../../ui/Facts';
import { formatPercent, plural } from '../../../ui/format';
import { Card } from '../../../ui/Layout';
import { Bytes, Count, Time, Unknown } from '../../../ui/Values';
import { systemOf, Tags } from '../WorkerParts';
import styles from './Facts.module.css';

interface FactsProps {
  id: string;
  machine: Machine | null;
  worker: Worker | null;
}

export function Facts({ id, machine, worker }: FactsProps) {
  const gpus = machine?.latest?.gpus ?? [];
  return (
    <Card title="Facts">
      <FactList wide>
        <Fact name="Id">
          <code>{id}</code>
        </Fact>
        {worker && <WorkerLines worker={worker} />}
        {machine && (
          <>
            <Fact name="Memory">
              {machine.latest ? `${machine.latest.memory.total.toFixed(1)} GiB` : <Unknown />}
            </Fact>
            <Fact name="Metrics">
              <Time ts={machine.lastSeen} />
            </Fact>
          </>
        )}
        {gpus.map((gpu) => (
          <Fact key={gpu.index} name={`GPU ${gpu.index}`}>
            {gpuText(gpu)}
          </Fact>
        ))}
      </FactList>
    </Card>
  );
}

function WorkerLines({ worker }: { worker: Worker }) {
  return (
    <>
      <Fact name="Host">{worker.hostname ?? <Unknown />}</Fact>
      <Fact name="System">{systemOf(worker)}</Fact>
      <Fact name="Agent">
        {worker.version ? `version ${worker.version}` : <Unknown />}
        {worker.pid != null && `, pid ${worker.pid}`}
      </Fact>
      <Fact name="Agent memory">
        <Bytes value={worker.rss_kb == null ? null : worker.rss_kb * 1024} why="Not told yet" />
      </Fact>
      <Fact name="Offers">
        {plural(worker.slots, 'slot')}, {plural(worker.cores, 'core')}, {worker.ram_gb.toFixed(1)} GB
      </Fact>
      <Fact name="Slots busy">
        <Count value={worker.busy} exact why="No heartbeat yet" />
      </Fact>
      <Fact name="Outbox">
        {worker.outbox == null ? (
          <Unknown why="No heartbeat yet" />
        ) : worker.outbox === 0 ? (
          'empty, every outcome is told'
        ) : (
          <span className={styles.waiting}>{plural(worker.outbox, 'outcome')} not told to the hub yet</span>
        )}
      </Fact>
      <Fact name="Types">{worker.types.length === 0 ? 'all' : worker.types.join(', ')}</Fact>
      <Fact name="Queues">{worker.queues.length === 0 ? 'all' : worker.queues.join(', ')}</Fact>
      <Fact name="Tags">{worker.tags.length === 0 ? 'none' : <Tags tags={worker.tags} />}</Fact>
      <Fact name="Registered">
        <Time ts={worker.registered_at} />
      </Fact>
      <Fact name="Heartbeat">
        <Time ts={worker.last_heartbeat} why="None yet" />
      </Fact>
    </>
  );
}

function gpuText({ model, vendor, temperatureGpu, utilizationGpu, vramTotal }: Gpu): string {
  const parts = [
    model ?? vendor ?? 'model not told',
    vramTotal == null ? null : `${(vramTotal / 1_000).toFixed(1)} GB`,
    utilizationGpu == null ? null : `${formatPercent(utilizationGpu)} busy`,
    temperatureGpu == null ? null : `${Math.round(temperatureGpu)} °C`,
  ];
  return parts.filter(Boolean).join(', ');
}
