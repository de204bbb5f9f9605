import { useQuery } from '@tanstack/react-query';
import { queries } from '../../api/queries';
import type { Overview } from '../../api/types';
import { Bars } from '../../ui/Bars';
import { formatDate, formatNumber, formatShort, formatTime } from '../../ui/format';
import { Card, Page } from '../../ui/Layout';
import { Meter } from '../../ui/Meter';
import { Stat } from '../../ui/Stat';
import { Loaded, Skeleton } from '../../ui/States';
import { Duration } from '../../ui/Values';
import { Attention } from './Attention';
import { JobsByState } from './JobsByState';
import { LatestEvents } from './LatestEvents';
import styles from './OverviewPage.module.css';
import { QueuesTable } from './QueuesTable';

export default function OverviewPage() {
  const overview = useQuery(queries.overview());
  return (
    <Page title="Overview">
      <Loaded
        query={overview}
        failure="The overview could not be read"
        loading={<Skeleton lines={8} height={40} />}
      >
        {(data) => (
          <>
            <Attention overview={data} />
            <Figures overview={data} />
            <div className={styles.columns}>
              <div className={styles.column}>
                <div className={styles.charts}>
                  <LastHour overview={data} />
                  <LastMonth overview={data} />
                </div>
                <QueuesTable queues={data.queues} />
              </div>
              <div className={styles.column}>
                <JobsByState overview={data} />
                <LatestEvents />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const { machines, workers, slots, busy, jobs, views, oldest_waiting_ms, today, total } = overview;
  const all = machines.online + machines.degraded + machines.offline;
  return (
    <div className={styles.figures}>
      <Card>
        <Stat
          label="Machines online"
          href="/fleet"
          value={
            <>
              {formatNumber(machines.online)}
              <span className={styles.of}> of {formatNumber(all)}</span>
            </>
          }
          note={`${machines.degraded} degraded · ${machines.offline} offline`}
        />
      </Card>
      <Card>
        <Stat
          label="Slots busy"
          href="/fleet"
          value={
            <>
              {formatNumber(busy)}
              <span className={styles.of}> of {formatNumber(slots)}</span>
            </>
          }
        />
        <Meter
          label="Slots busy"
          percent={slots === 0 ? null : (busy / slots) * 100}
          // All slots busy is a fleet at work, not an alarm.
          warnFrom={101}
          badFrom={101}
          bare
        />
        <span className={styles.note}>
          {formatNumber(workers.online)} workers online
          {workers.draining > 0 && ` · ${formatNumber(workers.draining)} draining`}
          {workers.lost > 0 && ` · ${formatNumber(workers.lost)} lost`}
        </span>
      </Card>
      <Card>
        <Stat
          label="Jobs due"
          href="/jobs?status=pending"
          value={<span title={formatNumber(views.due)}>{formatShort(views.due)}</span>}
          note={
            oldest_waiting_ms == null ? (
              'None waits'
            ) : (
              <>
                oldest waits <Duration ms={oldest_waiting_ms} />
              </>
            )
          }
        />
      </Card>
      <Card>
        <Stat
          label="Jobs running"
          href="/jobs?status=running"
          value={formatShort(jobs.running)}
          note={`${formatNumber(jobs.assigned)} assigned`}
        />
      </Card>
      <Card>
        <Stat
          label="Completed today, UTC"
          href="/jobs?status=completed"
          value={<span title={formatNumber(today.completed)}>{formatShort(today.completed)}</span>}
          note={<span title={formatNumber(total.completed)}>{formatShort(total.completed)} in total</span>}
        />
      </Card>
      <Card>
        <Stat
          label="Failed today, UTC"
          href="/jobs?status=failed"
          {...(today.failed > 0 ? { tone: 'bad' as const } : {})}
          value={<span title={formatNumber(today.failed)}>{formatShort(today.failed)}</span>}
          note={<span title={formatNumber(total.failed)}>{formatShort(total.failed)} in total</span>}
        />
      </Card>
    </div>
  );
}

const SERIES = [
  { name: 'Completed', tone: 'ok' },
  { name: 'Failed', tone: 'bad' },
] as const;

function LastHour({ overview }: { overview: Overview }) {
  const bars = overview.minutes.map(({ ts, completed, failed }) => ({
    label: formatTime(ts, ts).slice(0, 5),
    values: [completed, failed],
  }));
  return (
    <Card title="Jobs per minute" aside="last hour">
      <Bars
        title="Jobs ended in each minute of the last hour"
        bars={bars}
        series={[...SERIES]}
        from="1 h ago"
        to="now"
      />
    </Card>
  );
}

function LastMonth({ overview }: { overview: Overview }) {
  const bars = overview.days.map(({ ts, completed, failed }) => ({
    // Days are UTC; noon keeps the date right in every zone but the farthest.
    label: formatDate(ts + 12 * 3_600_000),
    values: [completed, failed],
  }));
  return (
    <Card title="Jobs per day" aside="30 days, UTC">
      <Bars
        title="Jobs ended on each of the last 30 days"
        bars={bars}
        series={[...SERIES]}
        from="30 d ago"
        to="today"
      />
    </Card>
  );
}
