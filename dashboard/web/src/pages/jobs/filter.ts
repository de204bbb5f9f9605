/** Which jobs a list shows: as the address has it, and as it applies to a job that an event tells of. */
import type { JobsFilter } from '../../api/queries';
import { JOB_STATUSES, type Job, type JobView } from '../../api/types';

const TEXTS = ['type', 'queue', 'worker_id', 'tag', 'q'] as const;
const TIMES = ['since', 'until'] as const;
export const JOB_VIEWS = [
  'scheduled',
  'retrying',
  'blocked',
  'dead',
  'cancelled',
] as const satisfies readonly JobView[];

/** The filter that an address asks for; what it does not understand is left out. */
export function filterFrom(search: string): JobsFilter {
  const query = new URLSearchParams(search);
  const filter: JobsFilter = {};
  const status = JOB_STATUSES.find((known) => known === query.get('status'));
  if (status) filter.status = status;
  const view = JOB_VIEWS.find((known) => known === query.get('view'));
  if (view) filter.view = view;
  for (const name of TEXTS) {
    const text = query.get(name)?.trim();
    if (text) filter[name] = text;
  }
  for (const name of TIMES) {
    const ms = timeFrom(query.get(name));
    if (ms !== null) filter[name] = ms;
  }
  return filter;
}

/** Milliseconds since 1970, or a date as people write it into an address. */
function timeFrom(text: string | null): number | null {
  if (!text) return null;
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isSafeInteger(ms) ? ms : null;
}

/** The same as the query of an address: `?status=failed&queue=mail`, or nothing. */
export function searchFor(filter: JobsFilter): string {
  const query = new URLSearchParams();
  for (const name of ['status', 'view', ...TEXTS, ...TIMES] as const) {
    const value = filter[name];
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}

/** How many filters are set besides those a page has by itself. */
export function countFilters(filter: JobsFilter, own: JobsFilter): number {
  const names = Object.keys(filter) as (keyof JobsFilter)[];
  return names.filter((name) => filter[name] !== undefined && own[name] === undefined).length;
}

/** What is known of a job; an event tells less than a row has. */
export type KnownJob = { [Name in FilteredField]?: Job[Name] | null };
type FilteredField = 'status' | 'attempt' | 'run_at' | 'type' | 'queue' | 'worker_id' | 'fail_reason';

/** Whether a job fits, as far as can be told: tags, text and time do not change and are not looked at. */
export function mayMatch(filter: JobsFilter, job: KnownJob, now: number): boolean {
  if (filter.status && job.status !== filter.status) return false;
  if (filter.type && job.type !== filter.type) return false;
  if (filter.queue && job.queue !== filter.queue) return false;
  if (filter.worker_id && job.worker_id !== filter.worker_id) return false;
  const isAhead = job.status === 'pending' && (job.run_at ?? 0) > now;
  switch (filter.view) {
    case 'scheduled':
      return isAhead && job.attempt === 0;
    case 'retrying':
      return isAhead && (job.attempt ?? 0) > 0;
    case 'blocked':
      return job.status === 'pending';
    case 'dead':
      return job.status === 'quarantined';
    case 'cancelled':
      return job.status === 'failed' && job.fail_reason === 'cancelled';
    default:
      return true;
  }
}
