/**
 * What live messages do to cached data. Machines and jobs that are cached are changed in place;
 * what only the hub can count is asked for again, at a bounded rate however much happens.
 */
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { keys } from '../api/queries';
import type { EventKind, HubEvent, Job, Machine } from '../api/types';
import type { LiveMessage, MachineNow } from './messages';

/** Asked for again when such an event comes, at most once in `everyMs`. */
interface Rule {
  concerns: (event: HubEvent) => boolean;
  key: QueryKey;
  everyMs: number;
}

const startsWith = (prefix: string) => (event: HubEvent) => event.event.startsWith(prefix);

const RULES: Rule[] = [
  { concerns: () => true, key: keys.overview, everyMs: 1_000 },
  { concerns: startsWith('worker:'), key: keys.workers, everyMs: 1_000 },
  // A worker's count of running jobs changes with its jobs.
  { concerns: ({ worker_id }) => worker_id != null, key: keys.workers, everyMs: 3_000 },
];

/** Invalidates a query at once, then at most once in a while, and never forgets the last call. */
export class Refresher {
  #client: QueryClient;
  #next = new Map<string, { at: number; timer?: ReturnType<typeof setTimeout> }>();

  constructor(client: QueryClient) {
    this.#client = client;
  }

  refresh(key: QueryKey, everyMs: number): void {
    const name = JSON.stringify(key);
    const now = Date.now();
    const entry = this.#next.get(name) ?? { at: 0 };
    this.#next.set(name, entry);
    if (entry.timer !== undefined) return;
    const run = () => {
      delete entry.timer;
      entry.at = Date.now() + everyMs;
      void this.#client.invalidateQueries({ queryKey: key });
    };
    if (entry.at <= now) run();
    else entry.timer = setTimeout(run, entry.at - now);
  }

  stop(): void {
    for (const { timer } of this.#next.values()) clearTimeout(timer);
    this.#next.clear();
  }
}

/** Events after which more of a job has changed than the event tells. */
const ENDINGS: EventKind[] = [
  'job:completed',
  'job:failed',
  'job:quarantined',
  'job:updated',
  'job:released',
];

/** How often one job that is looked at is read again. */
const JOB_EVERY_MS = 500;

export function applyToCache(client: QueryClient, refresher: Refresher, messages: LiveMessage[]): void {
  if (messages.some((message) => message.topic === 'reset')) {
    void client.invalidateQueries({ predicate: (query) => query.queryKey[0] !== keys.session[0] });
    return;
  }
  const machines = new Map<string, MachineNow>();
  const rules = new Set<Rule>();
  for (const message of messages) {
    if (message.topic === 'node') {
      machines.set(message.node.id, message.node);
    } else if (message.topic === 'event') {
      const { event } = message;
      for (const rule of RULES) if (!rules.has(rule) && rule.concerns(event)) rules.add(rule);
      applyToJob(client, refresher, event);
    }
  }
  if (machines.size > 0) applyToFleet(client, machines);
  for (const { key, everyMs } of rules) refresher.refresh(key, everyMs);
}

/** Snapshots kept of a machine: those that the hub shows. */
const HISTORY_MAX = 60;

/** A machine with its newest snapshot at the end of its past. */
function withPresent(now: MachineNow, history: Machine['history']): Machine {
  const { latest } = now;
  const isNews = latest != null && latest.timestamp > (history.at(-1)?.timestamp ?? 0);
  return { ...now, history: isNews ? [...history, latest].slice(-HISTORY_MAX) : history };
}

function applyToFleet(client: QueryClient, changed: Map<string, MachineNow>): void {
  let isNew = false;
  client.setQueryData<Machine[]>(keys.fleet, (fleet) => {
    if (!fleet) return fleet;
    const known = new Set(fleet.map((machine) => machine.id));
    const added = [...changed.values()].filter(({ id }) => !known.has(id)).map((now) => withPresent(now, []));
    isNew = added.length > 0;
    const present = fleet.map((machine) => {
      const now = changed.get(machine.id);
      return now ? withPresent(now, machine.history) : machine;
    });
    return [...present, ...added];
  });
  if (isNew) void client.invalidateQueries({ queryKey: keys.overview });
}

/** What events change of a job. */
type Changing = Pick<
  Job,
  | 'status'
  | 'attempt'
  | 'attempts'
  | 'run_at'
  | 'worker_id'
  | 'progress'
  | 'claimed_at'
  | 'started_at'
  | 'cancel_requested'
>;

/** A job, or a row of a list of jobs, as an event leaves it. */
export function changedBy<T extends Changing>(job: T, event: HubEvent): T {
  const next = { ...job };
  if (event.status) next.status = event.status;
  if (event.attempt != null) next.attempt = event.attempt;
  if (event.attempts != null) next.attempts = event.attempts;
  if (event.run_at != null) next.run_at = event.run_at;
  if (event.worker_id != null) next.worker_id = event.worker_id;
  if (event.progress != null) next.progress = event.progress;
  if (event.event === 'job:assigned') next.claimed_at = event.ts;
  if (event.event === 'job:running') next.started_at = event.ts;
  if (event.event === 'job:cancelling') next.cancel_requested = true;
  return next;
}

function applyToJob(client: QueryClient, refresher: Refresher, event: HubEvent): void {
  if (event.job_id == null) return;
  const key = keys.job(event.job_id);
  if (!client.getQueryData<Job>(key)) return;
  client.setQueryData<Job>(key, (job) => (job ? changedBy(job, event) : job));
  if (ENDINGS.includes(event.event)) refresher.refresh(key, JOB_EVERY_MS);
}
