/** A job as a list keeps it: without its values, so that 100,000 of them fit into memory. */
import { stringifyExact } from '../../api/exactJson';
import type { HubEvent, Job } from '../../api/types';
import { changedBy } from '../../live/cache';
import { stripAnsi } from '../../ui/ansi';

const PREVIEW_CHARS = 200;

type Kept =
  | 'id'
  | 'type'
  | 'queue'
  | 'status'
  | 'priority'
  | 'worker_id'
  | 'created_at'
  | 'run_at'
  | 'claimed_at'
  | 'started_at'
  | 'finished_at'
  | 'attempt'
  | 'attempts'
  | 'max_attempts'
  | 'cancel_requested'
  | 'progress'
  | 'tags';

export interface JobRow extends Pick<Job, Kept> {
  /** Why it failed the last time. */
  fail_reason: string | null;
  errorClass: string | null;
  /** The last line it wrote before that. */
  lastWords: string | null;
  params: string;
  result: string | null;
  /** More of it has changed than the events told: it is to be read again when it is seen. */
  stale: boolean;
}

export function rowOf(job: Job): JobRow {
  const last = job.fail_history.at(-1);
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    status: job.status,
    priority: job.priority,
    worker_id: job.worker_id ?? null,
    created_at: job.created_at,
    run_at: job.run_at,
    claimed_at: job.claimed_at ?? null,
    started_at: job.started_at ?? null,
    finished_at: job.finished_at ?? null,
    attempt: job.attempt,
    attempts: job.attempts,
    max_attempts: job.max_attempts,
    cancel_requested: job.cancel_requested,
    progress: job.progress ?? null,
    tags: job.tags,
    fail_reason: job.fail_reason ?? last?.reason ?? null,
    errorClass: last?.error_class ?? null,
    lastWords: last?.backtrace ? lastLine(last.backtrace) : null,
    params: preview(job.params),
    result: job.result == null ? null : preview(job.result),
    stale: false,
  };
}

function preview(value: unknown): string {
  return stringifyExact(value).slice(0, PREVIEW_CHARS);
}

function lastLine(text: string): string {
  return stripAnsi(text.trimEnd().split('\n').at(-1) ?? '').slice(0, PREVIEW_CHARS);
}

/** A row as an event leaves it. */
export function rowChangedBy(row: JobRow, event: HubEvent): JobRow {
  const next = changedBy(row, event);
  if (event.reason != null && event.reason !== row.fail_reason) {
    next.fail_reason = event.reason;
    next.lastWords = null;
  }
  if (next.status === 'pending') {
    // A lease that is over shows no machine.
    next.worker_id = null;
    next.claimed_at = null;
    next.started_at = null;
    next.finished_at = null;
    next.progress = null;
  } else if (next.status !== 'assigned' && next.status !== 'running') {
    next.finished_at ??= event.ts;
  }
  next.stale ||= event.event !== 'job:progress' && event.event !== 'job:running';
  return next;
}
