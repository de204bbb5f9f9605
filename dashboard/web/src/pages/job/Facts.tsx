import { Link } from 'wouter';
import type { Job } from '../../api/types';
import { Code } from '../../ui/Code';
import { CopyButton } from '../../ui/Copy';
import { Fact, FactList } from '../../ui/Facts';
import { formatNumber } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Duration, Time } from '../../ui/Values';
import styles from './Facts.module.css';

export function Facts({ job }: { job: Job }) {
  return (
    <Card title="Facts">
      <FactList className={styles.facts}>
        <Fact name="Id">
          <code>{job.id}</code> <CopyButton text={job.id} label="Copy the id" />
        </Fact>
        <Fact name="Queue">
          <Link href={`/jobs?queue=${encodeURIComponent(job.queue)}`}>{job.queue}</Link>
        </Fact>
        <Fact name="Machine">
          {job.worker_id ? (
            <Link href={`/fleet/${encodeURIComponent(job.worker_id)}`}>{job.worker_id}</Link>
          ) : (
            'none has it'
          )}
        </Fact>
        <Fact name="Priority">{job.priority}</Fact>
        <Fact name="Created">
          <Moment ts={job.created_at} />
        </Fact>
        {job.run_at !== job.created_at && (
          <Fact name="Due">
            <Moment ts={job.run_at} />
          </Fact>
        )}
        {job.finished_at != null && (
          <Fact name="Ended">
            <Moment ts={job.finished_at} />
          </Fact>
        )}
        {job.expires_at != null && (
          <Fact name="Expires">
            <Moment ts={job.expires_at} />
          </Fact>
        )}
        <Fact name="Attempts">
          {job.attempts} of {job.max_attempts}
          {job.attempt !== job.attempts && `, claimed ${formatNumber(job.attempt)} times`}
        </Fact>
        <Fact name="Runtime limit">
          {job.max_runtime_ms == null ? 'none' : <Duration ms={job.max_runtime_ms} />}
        </Fact>
        {job.backoff && (
          <Fact name="Backoff">
            {job.backoff.kind}
            {job.backoff.first_ms != null && (
              <>
                , from <Duration ms={job.backoff.first_ms} />
              </>
            )}
          </Fact>
        )}
        {job.tags.length > 0 && (
          <Fact name="Tags">
            <span className={styles.tags}>
              {job.tags.map((tag) => (
                <Link key={tag} href={`/jobs?tag=${encodeURIComponent(tag)}`} className={styles.tag}>
                  {tag}
                </Link>
              ))}
            </span>
          </Fact>
        )}
        {job.solver_url && <Fact name="Solver">{job.solver_url}</Fact>}
        {job.solver_checksum && (
          <Fact name="Solver sha256">
            <code>{job.solver_checksum}</code>
          </Fact>
        )}
        {job.result_hash && (
          <Fact name="Result hash">
            <code>{job.result_hash}</code>
          </Fact>
        )}
      </FactList>
      {job.command && (
        <div className={styles.command}>
          <Code label="Command" text={job.command} />
        </div>
      )}
    </Card>
  );
}

function Moment({ ts }: { ts: number }) {
  return (
    <>
      <Time ts={ts} as="clock" />{' '}
      <span className={styles.faint}>
        <Time ts={ts} />
      </span>
    </>
  );
}
