/**
 * Names and loaders of everything the pages read. Live events find cached data by these names, so
 * a page never makes up its own: `useQuery(queries.fleet())`.
 */
import { infiniteQueryOptions, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { api, ask, askWithResponse, getJson } from './client';
import { ApiError } from './errors';
import { parseExact } from './exactJson';
import type { Overview } from './overview';
import type { operations } from './schema';
import type { Attempt, Job } from './types';

export type JobsFilter = Omit<
  NonNullable<operations['list_jobs']['parameters']['query']>,
  'limit' | 'offset' | 'cursor'
>;

/** Rows of one page of a list. */
export const JOBS_PAGE = 200;

export const keys = {
  session: ['session'],
  overview: ['overview'],
  fleet: ['fleet'],
  workers: ['workers'],
  worker: (id: string) => ['worker', id],
  /** Every list of jobs. */
  allJobs: ['jobs'],
  jobs: (filter: JobsFilter) => ['jobs', filter],
  job: (id: string) => ['job', id],
  attempts: (id: string) => ['job', id, 'attempts'],
  solvers: ['solvers'],
  tokens: ['tokens'],
  audit: ['audit'],
  health: ['health'],
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

/** A part of a list of jobs, newest first. */
export async function jobsPage(filter: JobsFilter, { limit, cursor, signal }: PageOptions) {
  const query = { ...filter, limit, ...(cursor ? { cursor } : {}) };
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
      queryFn: ({ signal }) => getJson<Overview>('/api/overview', signal),
      // A scheduled job becomes due, and a minute passes, without an event.
      refetchInterval: 10_000,
    }),
  fleet: () =>
    queryOptions({
      queryKey: keys.fleet,
      queryFn: ({ signal }) => ask(api.GET('/api/fleet', { signal })),
    }),
  workers: () =>
    queryOptions({
      queryKey: keys.workers,
      queryFn: ({ signal }) => ask(api.GET('/api/workers', { signal })),
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
