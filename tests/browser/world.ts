/** A hub with a bit of everything on it: what every page needs to have something to show. */
import type { ClaimedJob, Hub } from './hub';

export interface World {
  /** Ids of jobs by what became of them. */
  jobs: Record<'pending' | 'running' | 'completed' | 'dead', string>;
  /** A machine that also takes jobs. */
  machine: string;
}

/** Every text in the world; hostile ones show whether any page takes them for more than text. */
export interface Texts {
  type: string;
  queue: string;
  tag: string;
  param: string;
  result: string;
  log: string;
  reason: string;
  errorClass: string;
  backtrace: string;
  machineName: string;
  hostname: string;
  tokenName: string;
  progress: string;
}

export const PLAIN: Texts = {
  type: 'render-frame',
  queue: 'studio/film',
  tag: 'nightly',
  param: 'scene-12',
  result: 'frames/0012.exr',
  log: '\u001b[32mloaded\u001b[0m scene-12\n\u001b[33mwarning:\u001b[0m texture is large\nrendering…\n',
  reason: 'out of memory while shading',
  errorClass: 'MemoryError',
  backtrace: '  at shade (render.py:212)\n  at frame (render.py:88)',
  machineName: 'Workbench',
  hostname: 'workbench.local',
  tokenName: 'Build server',
  progress: 'sampling tiles',
};

export async function furnish(hub: Hub, texts: Texts = PLAIN): Promise<World> {
  const worker = 'workbench';
  await pushMetrics(hub, worker, texts.machineName);
  await hub.post('/api/workers/register', {
    worker_id: worker,
    name: texts.machineName,
    hostname: texts.hostname,
    slots: 4,
    cores: 8,
    ram_gb: 32,
    tags: [texts.tag],
    types: [texts.type],
    pid: 4711,
    os: 'linux',
    arch: 'x86_64',
    version: '0.1.0',
  });
  const template = {
    type: texts.type,
    queue: texts.queue,
    tags: [texts.tag],
    params: { input: texts.param },
  };
  const take = async (fields: object = {}): Promise<ClaimedJob> => {
    await hub.enqueue({ ...template, ...fields });
    return hub.claim(worker, texts.type);
  };

  const completed = await take();
  await hub.report(completed, worker, 'heartbeat');
  await hub.writeLog(completed, worker, 0, texts.log);
  await hub.report(completed, worker, 'result', { result: { output: texts.result } });

  const failure = { reason: texts.reason, error_class: texts.errorClass, backtrace: texts.backtrace };
  const dead = await take({ max_attempts: 1 });
  await hub.writeLog(dead, worker, 0, texts.log);
  await hub.report(dead, worker, 'fail', failure);
  const retrying = await take();
  await hub.report(retrying, worker, 'fail', { ...failure, retry_in_ms: 3_600_000 });

  const running = await take();
  await hub.report(running, worker, 'heartbeat');
  await hub.writeLog(running, worker, 0, texts.log);
  await hub.report(running, worker, 'progress', { percent: 40, message: texts.progress });

  const cancelled = await hub.enqueue(template);
  await hub.post(`/api/jobs/${cancelled}/cancel`);
  await hub.enqueue({ ...template, delay_ms: 7_200_000 });
  const pending = await hub.enqueue(template);

  await hub.token('viewer', texts.tokenName);
  await hub.upload('#!/bin/sh\ncat\n');
  return {
    machine: worker,
    jobs: { pending, running: running.id, completed: completed.id, dead: dead.id },
  };
}

async function pushMetrics(hub: Hub, node: string, name: string): Promise<void> {
  const snapshot = {
    timestamp: Date.now(),
    cpu: 61.5,
    cpuCores: [90, 71, 55, 30],
    memory: { total: 32, used: 19, percent: 59.4 },
    disk: { read: 12.5, write: 3.25 },
    network: { rx: 0.5, tx: 1.75 },
    load: { avg1: 3.1, avg5: 2.7, avg15: 2.2 },
  };
  await hub.call('POST', `/api/ingest/${node}`, snapshot, { 'x-node-name': name });
}

interface PageToSee {
  name: string;
  path: (world: World) => string;
  /** Words that show that it has read its data. */
  shows: (texts: Texts) => string;
  /** What who may only watch sees in its place. */
  toViewers?: string;
}

const job = (state: keyof World['jobs']): PageToSee => ({
  name: `a ${state} job`,
  path: ({ jobs }) => `/jobs/${jobs[state]}`,
  shows: ({ type }) => type,
});

const CLOSED = 'Your token may not see this';

/** Every page of the dashboard. */
export const PAGES: PageToSee[] = [
  { name: 'the overview', path: () => '/', shows: ({ queue }) => queue },
  { name: 'the fleet', path: () => '/fleet', shows: ({ machineName }) => machineName },
  { name: 'a machine', path: ({ machine }) => `/fleet/${machine}`, shows: ({ hostname }) => hostname },
  { name: 'adding a machine', path: () => '/fleet/add', shows: () => 'Add a machine', toViewers: CLOSED },
  { name: 'the jobs', path: () => '/jobs', shows: ({ type }) => type },
  { name: 'a new job', path: () => '/jobs/new', shows: () => 'Submit the job', toViewers: CLOSED },
  job('pending'),
  job('running'),
  job('completed'),
  job('dead'),
  { name: 'the queues', path: () => '/queues', shows: ({ queue }) => queue },
  { name: 'what is scheduled', path: () => '/scheduled', shows: ({ type }) => type },
  { name: 'what is retried', path: () => '/retries', shows: ({ reason }) => reason },
  { name: 'what is dead', path: () => '/dead', shows: ({ reason }) => reason },
  { name: 'the solvers', path: () => '/settings', shows: () => 'Settings' },
  {
    name: 'the tokens',
    path: () => '/settings?tab=tokens',
    shows: ({ tokenName }) => tokenName,
    toViewers: 'Settings',
  },
  {
    name: 'the audit log',
    path: () => '/settings?tab=audit',
    shows: () => 'session.open',
    toViewers: 'Settings',
  },
  { name: 'a mistyped address', path: () => '/nowhere', shows: () => 'There is no such page' },
];
