import { useQuery } from '@tanstack/react-query';
import { ChartLine, Table2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import { queries } from '../../../api/queries';
import type { HistoryRange, NodeHistory } from '../../../api/types';
import { formatPercent, formatRate } from '../../../ui/format';
import { Card } from '../../../ui/Layout';
import { Segments } from '../../../ui/Segments';
import { Empty, Loaded, Skeleton } from '../../../ui/States';
import Chart, { type Series } from './Chart';
import { CoreStrip } from './CoreStrip';
import { columnsOf, gpusOf, type PickSpread, spreadOf } from './columns';
import styles from './History.module.css';
import { HistoryTable } from './HistoryTable';
import { JobLanes } from './JobLanes';

const RANGES: readonly HistoryRange[] = ['1h', '12h', '24h', '7d', '30d', '1y'];
const RANGE_LABELS: Record<HistoryRange, string> = {
  '1h': '1 h',
  '12h': '12 h',
  '24h': '24 h',
  '7d': '7 d',
  '30d': '30 d',
  '1y': '1 y',
};

interface HistoryProps {
  id: string;
  /** Whether it also runs jobs. */
  isWorker: boolean;
}

/** What a machine did: charts, or the same as a table, with the jobs that ran below. */
export default function History({ id, isWorker }: HistoryProps) {
  const [address, setAddress] = useSearchParams();
  const range = RANGES.find((value) => value === address.get('range')) ?? '1h';
  const [shownAs, setShownAs] = useState<'charts' | 'table'>('charts');
  const history = useQuery(queries.history(id, range));
  return (
    <Card
      title="History"
      aside={
        <div className={styles.tools}>
          <Segments
            label="Shown as"
            options={[
              { value: 'charts', label: 'Charts', icon: <ChartLine aria-hidden="true" /> },
              { value: 'table', label: 'Table', icon: <Table2 aria-hidden="true" /> },
            ]}
            chosen={shownAs}
            onChoose={setShownAs}
          />
          <Segments
            label="Time range"
            options={RANGES.map((value) => ({ value, label: RANGE_LABELS[value] }))}
            chosen={range}
            onChoose={(chosen) => setAddress(chosen === '1h' ? {} : { range: chosen }, { replace: true })}
          />
        </div>
      }
    >
      <Loaded
        query={history}
        failure="The history could not be read"
        loading={<Skeleton lines={6} height={60} />}
      >
        {(data) => (
          <div className={styles.charts} aria-busy={history.isPlaceholderData}>
            {data.points.length === 0 ? (
              <Empty title="Nothing was measured in this time">
                Choose a longer time above, or look whether the agent runs and reaches the hub.
              </Empty>
            ) : shownAs === 'table' ? (
              <HistoryTable history={data} />
            ) : (
              <Charts history={data} />
            )}
            {isWorker && <JobLanes workerId={id} range={range} from={data.from} to={data.to} />}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

const CARD_TONES = ['info', 'busy', 'ok', 'warn', 'dead', 'bad'] as const;

function Charts({ history }: { history: NodeHistory }) {
  const { from, to, step_ms, points } = history;
  const drawn = useMemo(() => seriesOf(history), [history]);
  const frame = { xs: drawn.xs, from, to };
  return (
    <>
      <Chart {...frame} title="CPU" series={drawn.cpu} format={formatPercent} top={100} height={132} />
      <CoreStrip points={points} stepMs={step_ms} from={from} to={to} />
      <Chart {...frame} title="Memory" series={drawn.memory} format={formatPercent} top={100} />
      <Chart {...frame} title="Disk" series={drawn.disk} format={formatRate} height={88} />
      <Chart {...frame} title="Network" series={drawn.network} format={formatRate} height={88} />
      <Chart {...frame} title="Load" series={drawn.load} format={formatLoad} height={88} />
      {drawn.gpus.length > 0 && (
        <>
          <Chart {...frame} title="GPU" series={drawn.gpus} format={formatPercent} top={100} height={88} />
          <Chart {...frame} title="GPU memory" series={drawn.vram} format={formatMegabytes} height={88} />
        </>
      )}
    </>
  );
}

function formatLoad(value: number | null | undefined): string {
  return value == null ? '–' : value.toFixed(2);
}

function formatMegabytes(value: number | null | undefined): string {
  return value == null ? '–' : `${(value / 1_000).toFixed(1)} GB`;
}

function seriesOf(history: NodeHistory) {
  const columns = columnsOf(history);
  const line = (name: string, tone: Series['tone'], pick: PickSpread, withBand = true): Series => {
    const { mean, min, max } = spreadOf(columns, pick);
    return { name, tone, values: mean, ...(withBand ? { band: { min, max } } : {}) };
  };
  const cards = gpusOf(history.points);
  const eachCard = (pick: (gpu: NodeHistory['points'][number]['gpus'][number]) => ReturnType<PickSpread>) =>
    cards.map(({ index, model }, at) =>
      line(
        `${index} ${model}`,
        CARD_TONES[at % CARD_TONES.length] ?? 'info',
        ({ gpus }) => {
          const gpu = gpus.find((card) => card.index === index);
          return gpu && pick(gpu);
        },
        cards.length === 1,
      ),
    );
  return {
    xs: columns.xs,
    cpu: [line('mean', 'info', ({ cpu }) => cpu)],
    memory: [line('used', 'busy', ({ memory }) => memory)],
    disk: [
      line('read', 'info', ({ disk_read }) => disk_read, false),
      line('write', 'warn', ({ disk_write }) => disk_write, false),
    ],
    network: [
      line('received', 'info', ({ network_rx }) => network_rx, false),
      line('sent', 'warn', ({ network_tx }) => network_tx, false),
    ],
    load: [line('1 min', 'ok', ({ load }) => load)],
    gpus: eachCard(({ utilization }) => utilization),
    vram: eachCard(({ vram_used }) => vram_used),
  };
}
