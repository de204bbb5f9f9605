import { Link } from 'wouter';
import type { Failure, Job } from '../../api/types';
import { stripAnsi } from '../../ui/ansi';
import { Code } from '../../ui/Code';
import { formatNumber } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Time } from '../../ui/Values';
import styles from './Failures.module.css';

const KINDS: Record<Failure['kind'], string> = {
  error: 'failed',
  timeout: 'ran too long',
  expired: 'stopped reporting',
  cancelled: 'was cancelled',
};

/** Newest first: the last one is why somebody looks. */
export function Failures({ job }: { job: Job }) {
  if (job.fail_history.length === 0) return null;
  const newest = [...job.fail_history].reverse();
  return (
    <Card title="Failures" aside={formatNumber(newest.length)}>
      <ol className={styles.failures}>
        {newest.map((failure, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an attempt can fail twice at the same moment.
          <li key={index}>
            <p className={styles.head}>
              <strong className={styles.reason}>
                {failure.error_class && `${failure.error_class}: `}
                {failure.reason}
              </strong>
              <span className={styles.note}>
                attempt {failure.attempt} {KINDS[failure.kind] ?? failure.kind}
                {failure.worker_id && (
                  <>
                    {' '}
                    on{' '}
                    <Link href={`/fleet/${encodeURIComponent(failure.worker_id)}`}>{failure.worker_id}</Link>
                  </>
                )}{' '}
                <Time ts={failure.ts} />
              </span>
            </p>
            {failure.backtrace && (
              <details open={index === 0}>
                <summary>{failure.error_class ? 'Backtrace' : 'What it wrote last'}</summary>
                <Code label={`Backtrace of attempt ${failure.attempt}`} text={stripAnsi(failure.backtrace)} />
              </details>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}
