import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from 'wouter';
import { curl } from '../../api/curl';
import { ApiError } from '../../api/errors';
import { keys, queries } from '../../api/queries';
import type { Job } from '../../api/types';
import { useLive } from '../../live/LiveProvider';
import { Badge, JobBadge, ViewBadge } from '../../ui/Badge';
import { LinkButton } from '../../ui/Button';
import { Code } from '../../ui/Code';
import { useNow } from '../../ui/clock';
import { formatPercent } from '../../ui/format';
import { Card, Page } from '../../ui/Layout';
import { Meter } from '../../ui/Meter';
import { Empty, Loaded } from '../../ui/States';
import { Time } from '../../ui/Values';
import { bodyOf, bodyText } from '../jobs/newJob';
import { Facts } from './Facts';
import { Failures } from './Failures';
import { JobActions } from './JobActions';
import styles from './JobPage.module.css';
import { JobValues } from './JobValues';
import { LogView } from './LogView';
import { Timeline } from './Timeline';

export default function JobPage() {
  const { id = '' } = useParams();
  const client = useQueryClient();
  const query = useQuery(queries.job(id));
  useLive((messages) => {
    const changes = messages.some(
      (message) =>
        message.topic === 'event' && message.event.job_id === id && message.event.event !== 'job:progress',
    );
    // Events tell the job's state, but not its attempts; and a job that was deleted is gone from here too.
    if (changes) void client.invalidateQueries({ queryKey: keys.job(id) });
  });
  const isGone = query.error instanceof ApiError && query.error.status === 404;
  const crumb = <Link href="/jobs">Jobs</Link>;
  if (isGone) {
    return (
      <Page title="Job" crumb={crumb}>
        <Empty title="There is no such job" action={<LinkButton href="/jobs">All jobs</LinkButton>}>
          <code>{id}</code> was deleted, by somebody or because its time was over, or never existed.
        </Empty>
      </Page>
    );
  }
  const job = query.data;
  return (
    <Page
      title={job?.type ?? 'Job'}
      crumb={crumb}
      aside={job && <State job={job} />}
      actions={job && <JobActions job={job} />}
    >
      <Loaded query={query} failure="The job could not be read">
        {(data) => <Content key={data.id} job={data} />}
      </Loaded>
    </Page>
  );
}

function State({ job }: { job: Job }) {
  const now = useNow();
  const isAhead = job.status === 'pending' && job.run_at > now;
  return (
    <>
      {isAhead ? (
        <ViewBadge state={job.attempt > 0 ? 'retrying' : 'scheduled'} />
      ) : job.status === 'failed' && job.fail_reason === 'cancelled' ? (
        <ViewBadge state="cancelled" />
      ) : (
        <JobBadge state={job.status} />
      )}
      {job.cancel_requested && job.status === 'running' && (
        <Badge tone="warn" title="Its worker has been told to stop it">
          Cancelling
        </Badge>
      )}
      {job.worker_id && (
        <span className={styles.on}>
          on <Link href={`/fleet/${encodeURIComponent(job.worker_id)}`}>{job.worker_id}</Link>
        </span>
      )}
    </>
  );
}

function Content({ job }: { job: Job }) {
  return (
    <>
      {job.fail_reason && job.status !== 'completed' && (
        <p className={styles.reason} role="status">
          {job.fail_reason}
        </p>
      )}
      {job.status === 'running' && job.progress && (
        <Card>
          <Meter
            label={job.progress.message ?? 'Progress'}
            percent={job.progress.percent}
            text={formatPercent(job.progress.percent)}
            warnFrom={101}
            badFrom={101}
          />
          <span className={styles.note}>
            told <Time ts={job.progress.at} />
          </span>
        </Card>
      )}
      <div className={styles.columns}>
        <div className={styles.column}>
          <Timeline job={job} />
          <JobValues job={job} />
        </div>
        <div className={styles.column}>
          <Facts job={job} />
          <Failures job={job} />
        </div>
      </div>
      <LogView job={job} />
      <Card title="The same with curl">
        <div className={styles.column}>
          <Code
            label="Command that submits the same job"
            text={curl('POST', '/api/jobs', bodyText(bodyOf(job)))}
          />
          <Code
            label="Command that waits for this job"
            text={curl('GET', `/api/jobs/${encodeURIComponent(job.id)}?wait_ms=60000`)}
          />
        </div>
      </Card>
    </>
  );
}
