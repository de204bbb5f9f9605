/** What a list of jobs can show of each. A page picks its columns. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { JobBadge, ViewBadge } from '../../ui/Badge';
import { useNow } from '../../ui/clock';
import { Meter } from '../../ui/Meter';
import { Duration, Since, Time, Unknown } from '../../ui/Values';
import styles from './columns.module.css';
import type { JobRow } from './row';

export interface Column {
  title: string;
  /** Its width, as a track of a CSS grid. */
  width: string;
  number?: boolean;
  /** Where it stands on a phone; the others are left out there. */
  phone?: 'status' | 'main' | 'when' | 'detail';
  cell: (row: JobRow) => ReactNode;
}

/** Rows are reached with the arrow keys; a link in each would be a thousand stops for Tab. */
const NO_STOP = { tabIndex: -1 };

export const jobHref = (id: string) => `/jobs/${encodeURIComponent(id)}`;

export const columns = {
  status: { title: 'Status', width: '124px', phone: 'status', cell: (row) => <State row={row} /> },
  type: {
    title: 'Type',
    width: 'minmax(170px, 1.6fr)',
    phone: 'main',
    cell: (row) => (
      <Link href={jobHref(row.id)} className={styles.type} {...NO_STOP} title={`${row.type} · ${row.id}`}>
        <span className={styles.name}>{row.type}</span>
        <span className={styles.id}>{shortId(row.id)}</span>
      </Link>
    ),
  },
  queue: {
    title: 'Queue',
    width: 'minmax(80px, 0.8fr)',
    cell: (row) => <span title={row.queue}>{row.queue}</span>,
  },
  machine: {
    title: 'Machine',
    width: 'minmax(80px, 0.8fr)',
    cell: (row) =>
      row.worker_id ? (
        <Link href={`/fleet/${encodeURIComponent(row.worker_id)}`} title={row.worker_id} {...NO_STOP}>
          {row.worker_id}
        </Link>
      ) : (
        <Unknown why="No machine has it" />
      ),
  },
  waited: { title: 'Waited', width: '92px', number: true, cell: (row) => <Waited row={row} /> },
  ran: { title: 'Ran', width: '92px', number: true, cell: (row) => <Ran row={row} /> },
  age: {
    title: 'Created',
    width: '92px',
    number: true,
    phone: 'when',
    cell: (row) => <Time ts={row.created_at} />,
  },
  detail: {
    title: 'Progress, result or reason',
    width: 'minmax(140px, 2.6fr)',
    phone: 'detail',
    cell: (row) => <Detail row={row} />,
  },
  due: {
    title: 'Due',
    width: '226px',
    phone: 'when',
    cell: (row) => (
      <>
        <Time ts={row.run_at} />{' '}
        <span className={styles.clock}>
          <Time ts={row.run_at} as="clock" />
        </span>
      </>
    ),
  },
  nextTry: {
    title: 'Next try',
    width: '92px',
    number: true,
    phone: 'when',
    cell: (row) => <Time ts={row.run_at} />,
  },
  attempts: {
    title: 'Attempts',
    width: '84px',
    number: true,
    cell: (row) => `${row.attempts} of ${row.max_attempts}`,
  },
  priority: { title: 'Priority', width: '76px', number: true, cell: (row) => row.priority },
  params: {
    title: 'Params',
    width: 'minmax(140px, 2fr)',
    phone: 'detail',
    cell: (row) => <code className={styles.faint}>{row.params}</code>,
  },
  reason: {
    title: 'Last error',
    width: 'minmax(160px, 2.6fr)',
    phone: 'detail',
    cell: (row) => <Reason row={row} />,
  },
  died: {
    title: 'Died',
    width: '92px',
    number: true,
    phone: 'when',
    cell: (row) => <Time ts={row.finished_at} />,
  },
} satisfies Record<string, Column>;

/** Ids that the hub made differ at their end; those that people made are read whole. */
export function shortId(id: string): string {
  return /^[0-9a-f]{32}$/.test(id) ? id.slice(-6) : id;
}

function State({ row }: { row: JobRow }) {
  const now = useNow();
  if (row.cancel_requested && row.status === 'running') return <JobBadge state="running" small />;
  if (row.status === 'failed' && row.fail_reason === 'cancelled')
    return <ViewBadge state="cancelled" small />;
  if (row.status === 'pending' && row.run_at > now) {
    return <ViewBadge state={row.attempt > 0 ? 'retrying' : 'scheduled'} small />;
  }
  return <JobBadge state={row.status} small />;
}

/** From due to claimed, or until now. */
function Waited({ row }: { row: JobRow }) {
  if (row.claimed_at != null) return <Duration ms={Math.max(0, row.claimed_at - row.run_at)} />;
  if (row.status !== 'pending') return <Unknown why="It was never claimed" />;
  return row.run_at > Date.now() ? <Time ts={row.run_at} /> : <Since ts={row.run_at} />;
}

function Ran({ row }: { row: JobRow }) {
  if (row.started_at == null) return <Unknown why="It has not run" />;
  if (row.finished_at != null) return <Duration ms={row.finished_at - row.started_at} />;
  return <Since ts={row.started_at} />;
}

function Detail({ row }: { row: JobRow }) {
  if (row.status === 'running' && row.progress) {
    const { percent, message } = row.progress;
    return (
      <span className={styles.progress}>
        {percent != null && (
          <span className={styles.meter}>
            <Meter label="Progress" percent={percent} warnFrom={101} badFrom={101} bare />
          </span>
        )}
        <span className={styles.name}>
          {percent != null && `${Math.floor(percent)} %`} {message}
        </span>
      </span>
    );
  }
  if (row.cancel_requested && row.status === 'running') return <span>Being cancelled…</span>;
  if (row.result != null) return <code title={row.result}>{row.result}</code>;
  if (row.fail_reason != null) return <Reason row={row} />;
  return (
    <code className={styles.faint} title={row.params}>
      {row.params === '{}' ? '' : row.params}
    </code>
  );
}

function Reason({ row }: { row: JobRow }) {
  if (row.fail_reason == null) return <Unknown why="No reason was given" />;
  return (
    <span className={styles.reason} title={[row.fail_reason, row.lastWords].filter(Boolean).join('\n')}>
      {row.errorClass && <strong>{row.errorClass}: </strong>}
      {row.fail_reason}
      {row.lastWords && <span className={styles.words}> {row.lastWords}</span>}
    </span>
  );
}
