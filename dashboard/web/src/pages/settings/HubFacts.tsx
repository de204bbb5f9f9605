import { useQuery } from '@tanstack/react-query';
import { queries } from '../../api/queries';
import type { Settings } from '../../api/types';
import { Fact, FactList } from '../../ui/Facts';
import { formatDuration, formatNumber, plural } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Loaded } from '../../ui/States';
import { Bytes, Time } from '../../ui/Values';
import styles from './Settings.module.css';
import { versionsOf } from './versions';

/** What the hub is, how much room it takes, and how long it keeps what. */
export function HubFacts() {
  const settings = useQuery(queries.settings());
  return (
    <Loaded query={settings} failure="The hub's settings could not be read">
      {(data) => (
        <div className={styles.columns}>
          <Versions settings={data} />
          <Sizes settings={data} />
          <Retention settings={data} />
          <Limits settings={data} />
        </div>
      )}
    </Loaded>
  );
}

function Versions({ settings }: { settings: Settings }) {
  const workers = useQuery(queries.workers());
  return (
    <Card title="Versions">
      <FactList className={styles.facts}>
        <Fact name="Hub">
          {settings.version} ({settings.commit})
        </Fact>
        <Fact name="Started">
          <Time ts={settings.started_at} />
        </Fact>
        {versionsOf(workers.data ?? []).map(({ version, count }) => (
          <Fact key={version ?? ''} name={`Agents ${version ?? 'that did not tell'}`}>
            {plural(count, 'machine')}
          </Fact>
        ))}
      </FactList>
    </Card>
  );
}

function Sizes({ settings }: { settings: Settings }) {
  const { database_bytes, log_bytes, solvers_bytes } = settings;
  return (
    <Card title="Room on disk">
      <FactList className={styles.facts}>
        <Fact name="Jobs, workers, tokens, events">
          <Bytes value={database_bytes} />
        </Fact>
        <Fact name="Logs and machine history">
          <Bytes value={log_bytes} />
        </Fact>
        <Fact name="Solvers">
          <Bytes value={solvers_bytes} />
        </Fact>
        <Fact name="In all">
          <b>
            <Bytes value={database_bytes + log_bytes + solvers_bytes} />
          </b>
        </Fact>
      </FactList>
    </Card>
  );
}

function Retention({ settings: { retention } }: { settings: Settings }) {
  return (
    <Card title="Kept for" aside="set when the hub starts">
      <FactList className={styles.facts}>
        <Fact name="Completed jobs">{formatDuration(retention.completed_ms)}</Fact>
        <Fact name="Failed and dead jobs">
          {formatDuration(retention.failed_ms)}, at most {formatNumber(retention.failed_max)}
        </Fact>
        <Fact name="Events">{formatDuration(retention.events_ms)}</Fact>
        <Fact name="Machine history, every snapshot">{formatDuration(retention.history_seconds_ms)}</Fact>
        <Fact name="by the minute">{formatDuration(retention.history_minutes_ms)}</Fact>
        <Fact name="by the quarter hour">{formatDuration(retention.history_quarter_hours_ms)}</Fact>
        <Fact name="by the quarter day">{formatDuration(retention.history_quarter_days_ms)}</Fact>
      </FactList>
    </Card>
  );
}

function Limits({ settings: { limits } }: { settings: Settings }) {
  return (
    <Card title="Limits">
      <FactList className={styles.facts}>
        <Fact name="Params of a job">
          <Bytes value={limits.params_bytes} />
        </Fact>
        <Fact name="Result of a job">
          <Bytes value={limits.result_bytes} />
        </Fact>
        <Fact name="Log of an attempt, newest part">
          <Bytes value={limits.log_bytes} />
        </Fact>
        <Fact name="Solver">
          <Bytes value={limits.solver_bytes} />
        </Fact>
        <Fact name="Jobs in one batch">{formatNumber(limits.batch_jobs)}</Fact>
        <Fact name="Lease without a heartbeat">{formatDuration(limits.lease_ms)}</Fact>
        <Fact name="Requests of one token">{formatNumber(limits.requests_per_second)} / s</Fact>
      </FactList>
    </Card>
  );
}
