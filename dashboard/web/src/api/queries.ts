/**
 * Names and loaders of everything the pages read. Live events find cached data by these names, so
 * a page never makes up its own: `useQuery(queries.fleet())`.
 */
import { infiniteQueryOptions, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { api, ask, askWithResponse } from './client';
import { ApiError } from './errors';
import { parseExact } from './exactJson';
import type { operations } from './schema';
import type { Attempt, HistoryRange, Job } from './types';

export type JobsFilter = Omit<
  NonNullable<operations['list_jobs']['parameters']['query']>,
  'limit' | 'offset' | 'cursor' | 'sort'
>;

/** Rows of one page of a list. */
export const JOBS_PAGE = 200;
const AUDIT_PAGE = 100;
/** Jobs drawn under the charts of a machine; more would be a carpet. */
export const RAN_JOBS_MAX = 500;

/** Enough for the beginning of a sparkline, which grows while it is watched; a thousand machines fit. */
const SPARK_SNAPSHOTS = 12;

const HOUR_MS = 3_600_000;

export const RANGE_MS: Record<HistoryRange, number> = {
  '1h': HOUR_MS,
  '12h': 12 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '1y': 365 * 24 * HOUR_MS,
};

export const keys = {
  session: ['session'],
  overview: ['overview'],
  fleet: ['fleet'],
  workers: ['workers'],
  worker: (id: string) => ['worker', id],
  history: (id: string, range: HistoryRange) => ['history', id, range],
  ranJobs: (id: string, range: HistoryRange) => ['ran-jobs', id, range],
  heldJobs: (id: string) => ['held-jobs', id],
  /** Every list of jobs. */
  allJobs: ['jobs'],
  jobs: (filter: JobsFilter) => ['jobs', filter],
  job: (id: string) => ['job', id],
  attempts: (id: string) => ['job', id, 'attempts'],
  solvers: ['solvers'],
  tokens: ['tokens'],
  sessions: ['sessions'],
  audit: ['audit'],
  settings: ['settings'],
  health: ['health'],
  downloads: ['downloads'],
} as const;

interface PageOptions {
  limit: number;
  cursor?: string | undefined;
  signal?: AbortSignal;
}

/** Jobs from the text of a list, with every digit of their params and results. */
function jobsFrom(text: string): Job[] {
  const jobs = JSON.parse(text) as Job[];
  const exact = parseExact(text) as Job[];
  return jobs.map((job, at) => ({
    ...job,
    params: exact[at]?.params ?? job.params,
    result: exact[at]?.result ?? null,
  }));
}

/** Whether a list is of jobs that wait for their time: then those that are due soonest come first. */
export function isByTime({ view }: JobsFilter): boolean {
  return view === 'scheduled' || view === 'retrying';
}

/** A part of a list of jobs, newest first or soonest first. */
export async function jobsPage(filter: JobsFilter, { limit, cursor, signal }: PageOptions) {
  const sort = isByTime(filter) ? ({ sort: 'due' } as const) : {};
  const query = { ...filter, ...sort, limit, ...(cursor ? { cursor } : {}) };
  const { data, response } = await askWithResponse(
    api.GET('/api/jobs', { params: { query }, parseAs: 'text', ...(signal ? { signal } : {}) }),
  );
  return { jobs: jobsFrom(data), nextCursor: response.headers.get('x-next-cursor') ?? undefined };
}

export async function loadJob(id: string, signal?: AbortSignal): Promise<Job> {
  const call = api.GET('/api/jobs/{id}', {
    params: { path: { id } },
    parseAs: 'text',
    ...(signal ? { signal } : {}),
  });
  const [job] = jobsFrom(`[${await ask(call)}]`);
  if (!job) throw new Error('the hub answered without the job');
  return job;
}

export const queries = {
  overview: () =>
    queryOptions({
      queryKey: keys.overview,
      queryFn: ({ signal }) => ask(api.GET('/api/overview', { signal })),
      // A scheduled job becomes due, and a minute passes, without an event.
      refetchInterval: 10_000,
    }),
  fleet: () =>
    queryOptions({
      queryKey: keys.fleet,
      queryFn: ({ signal }) => {
        const query = { history: SPARK_SNAPSHOTS };
        return ask(api.GET('/api/fleet', { params: { query }, signal }));
      },
      // Live messages keep machines that did not change; comparing all their history finds nothing more.
      structuralSharing: false,
    }),
  workers: () =>
    queryOptions({
      queryKey: keys.workers,
      queryFn: ({ signal }) => ask(api.GET('/api/workers', { signal })),
    }),
  /** The past of a machine. */
  history: (id: string, range: HistoryRange) =>
    queryOptions({
      queryKey: keys.history(id, range),
      queryFn: ({ signal }) =>
        ask(api.GET('/api/nodes/{id}/history', { params: { path: { id }, query: { range } }, signal })),
      placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
      refetchInterval: range === '1h' ? 10_000 : 60_000,
    }),
  /** The newest of the jobs that a worker ran in a time. */
  ranJobs: (id: string, range: HistoryRange) =>
    queryOptions({
      queryKey: keys.ranJobs(id, range),
      queryFn: ({ signal }) => {
        const query = { worker_id: id, since: Date.now() - RANGE_MS[range], limit: RAN_JOBS_MAX };
        return ask(api.GET('/api/jobs', { params: { query }, signal }));
      },
      placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
      refetchInterval: range === '1h' ? 10_000 : 60_000,
    }),
  /** The jobs that a worker has now. */
  heldJobs: (id: string) =>
    queryOptions({
      queryKey: keys.heldJobs(id),
      queryFn: async ({ signal }) => {
        const query = { worker_id: id, since: Date.now(), limit: JOBS_PAGE };
        const jobs = await ask(api.GET('/api/jobs', { params: { query }, signal }));
        return jobs.filter(({ status }) => status === 'assigned' || status === 'running');
      },
    }),
  /** Pages of a list of jobs, newest first. */
  jobs: (filter: JobsFilter) =>
    infiniteQueryOptions({
      queryKey: keys.jobs(filter),
      initialPageParam: undefined as string | undefined,
      queryFn: ({ pageParam, signal }) => jobsPage(filter, { limit: JOBS_PAGE, cursor: pageParam, signal }),
      getNextPageParam: (page) => page.nextCursor,
    }),
  job: (id: string) =>
    queryOptions({
      queryKey: keys.job(id),
      queryFn: ({ signal }) => loadJob(id, signal),
    }),
  attempts: (id: string) =>
    queryOptions({
      queryKey: keys.attempts(id),
      queryFn: async ({ signal }): Promise<Attempt[]> =>
        await ask(api.GET('/api/jobs/{id}/attempts', { params: { path: { id } }, signal })),
    }),
  solvers: () =>
    queryOptions({
      queryKey: keys.solvers,
      queryFn: ({ signal }) => ask(api.GET('/api/solvers', { signal })),
    }),
  tokens: () =>
    queryOptions({
      queryKey: keys.tokens,
      queryFn: ({ signal }) => ask(api.GET('/api/tokens', { signal })),
    }),
  sessions: () =>
    queryOptions({
      queryKey: keys.sessions,
      queryFn: ({ signal }) => ask(api.GET('/api/sessions', { signal })),
    }),
  settings: () =>
    queryOptions({
      queryKey: keys.settings,
      queryFn: ({ signal }) => ask(api.GET('/api/settings', { signal })),
    }),
  /** Pages of what administrators did, newest first. */
  audit: () =>
    infiniteQueryOptions({
      queryKey: keys.audit,
      initialPageParam: undefined as number | undefined,
      queryFn: async ({ pageParam, signal }) => {
        const query = { limit: AUDIT_PAGE, ...(pageParam === undefined ? {} : { cursor: pageParam }) };
        const { data, response } = await askWithResponse(
          api.GET('/api/audit', { params: { query }, signal }),
        );
        const next = response.headers.get('x-next-cursor');
        return { entries: data, nextCursor: next === null ? undefined : Number(next) };
      },
      getNextPageParam: (page) => page.nextCursor,
      // Nothing tells of new entries; whoever opens the page wants to see them.
      staleTime: 0,
    }),
  /** The programs that machines can fetch from the hub. */
  downloads: () =>
    queryOptions({
      queryKey: keys.downloads,
      queryFn: ({ signal }) => ask(api.GET('/api/downloads', { signal })),
    }),
  health: () =>
    queryOptions({
      queryKey: keys.health,
      queryFn: ({ signal }) => ask(api.GET('/api/health', { signal })),
    }),
};

/** Another try may help only when the hub could not be asked. */
function mayHelp(failures: number, error: Error): boolean {
  const passing = error instanceof ApiError && (error.status === 0 || error.status >= 500);
  return passing && failures < 2;
}

export function newQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        // The session is over: the login page shows wherever that was noticed.
        if (error instanceof ApiError && error.isLoggedOut) client.setQueryData(keys.session, null);
      },
    }),
    defaultOptions: {
      queries: {
        // Live events tell what changed; what is shown meanwhile is not stale.
        staleTime: 30_000,
        refetchOnWindowFocus: false,
        retry: mayHelp,
      },
      mutations: { retry: false },
    },
  });
  return client;
}
