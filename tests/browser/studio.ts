/** A fleet at work, for the pictures: a studio that renders, simulates and trains. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { ClaimedJob, Hub } from './hub';

interface Machine {
  id: string;
  name: string;
  cores: number;
  ramGb: number;
  slots: number;
  gpu?: string;
  os: string;
  /** How hard it works, from 0 to 1. */
  load: number;
  tags: string[];
}

const MACHINES: Machine[] = [
  {
    id: 'atlas',
    name: 'Atlas',
    cores: 32,
    ramGb: 128,
    slots: 8,
    gpu: 'RTX 6000 Ada',
    os: 'linux',
    load: 0.82,
    tags: ['gpu', 'rack-1'],
  },
  {
    id: 'borealis',
    name: 'Borealis',
    cores: 32,
    ramGb: 128,
    slots: 8,
    gpu: 'RTX 6000 Ada',
    os: 'linux',
    load: 0.74,
    tags: ['gpu', 'rack-1'],
  },
  {
    id: 'cassini',
    name: 'Cassini',
    cores: 16,
    ramGb: 64,
    slots: 4,
    os: 'linux',
    load: 0.55,
    tags: ['rack-2'],
  },
  { id: 'dione', name: 'Dione', cores: 16, ramGb: 64, slots: 4, os: 'linux', load: 0.91, tags: ['rack-2'] },
  { id: 'europa', name: 'Europa', cores: 12, ramGb: 32, slots: 3, os: 'macos', load: 0.22, tags: ['studio'] },
  {
    id: 'faraday',
    name: 'Faraday',
    cores: 8,
    ramGb: 32,
    slots: 2,
    os: 'windows',
    load: 0.35,
    tags: ['studio'],
  },
  {
    id: 'ganymede',
    name: 'Ganymede',
    cores: 64,
    ramGb: 256,
    slots: 16,
    os: 'linux',
    load: 0.64,
    tags: ['rack-3'],
  },
];
const GONE: Machine = {
  id: 'hyperion',
  name: 'Hyperion',
  cores: 16,
  ramGb: 64,
  slots: 4,
  os: 'linux',
  load: 0.4,
  tags: ['rack-3'],
};

/** A machine's id as often as it has slots. */
const SLOTS = MACHINES.flatMap(({ id, slots }) => Array<string>(slots).fill(id));

const WORK = [
  {
    type: 'render-frame',
    queue: 'film',
    params: (n: number) => ({ scene: 'harbour', frame: n, samples: 512 }),
    result: (n: number) => ({ image: `frames/harbour.${1000 + n}.exr`, rays: 48_211_904 + n * 977 }),
  },
  {
    type: 'simulate-flow',
    queue: 'research',
    params: (n: number) => ({ mesh: 'hull-7', reynolds: 4_000 + n * 50, steps: 20_000 }),
    result: (n: number) => ({ drag: rounded(0.0312 + n / 10_000), converged: true }),
  },
  {
    type: 'train-model',
    queue: 'research',
    params: (n: number) => ({ dataset: 'tides-2026', epochs: 40, rate: 0.0003, seed: n }),
    result: (n: number) => ({ loss: rounded(0.118 - n / 4_000), epochs: 40 }),
  },
  {
    type: 'transcode',
    queue: 'delivery',
    params: (n: number) => ({ reel: `R${n}`, codec: 'av1', height: 2160 }),
    result: (n: number) => ({ file: `R${n}.mkv`, seconds: 412 + n }),
  },
] as const;

const FAILURES = [
  {
    reason: 'out of memory while shading tile 41',
    error_class: 'MemoryError',
    backtrace:
      '  File "render.py", line 212, in shade\n    buffer = pool.take(tile.bytes)\n  File "pool.py", line 67, in take\n    raise MemoryError(size)',
  },
  {
    reason: 'no such mesh: hull-9',
    error_class: 'FileNotFoundError',
    backtrace: '  File "flow.py", line 31, in load\n    with open(path, "rb") as mesh:',
  },
  { reason: 'exit code 137 after 84 s', error_class: 'Killed' },
];

const LOG = [
  '\u001b[2m10:41:07\u001b[0m \u001b[32mINFO\u001b[0m  scene harbour, frame 61, 512 samples',
  '\u001b[2m10:41:07\u001b[0m \u001b[32mINFO\u001b[0m  1,204 meshes, 88 textures, 3.1 GiB',
  '\u001b[2m10:41:09\u001b[0m \u001b[33mWARN\u001b[0m  texture sea_normal.exr is 8192 px wide, using the half size',
  '\u001b[2m10:41:12\u001b[0m \u001b[32mINFO\u001b[0m  tree built in 2.8 s, depth 24',
  ...Array.from(
    { length: 22 },
    (_, tile) =>
      `\u001b[2m10:41:${String(13 + tile).padStart(2, '0')}\u001b[0m \u001b[36mTILE\u001b[0m  ${tile + 1} of 64, ${(41 + ((tile * 37) % 17)).toFixed(0)} rays/µs`,
  ),
].join('\n');

interface Held {
  job: ClaimedJob;
  worker: string;
}

export interface Studio {
  running: string;
  dead: string;
  completed: string;
  machine: string;
  /** A machine that went away a while ago. */
  gone: string;
  /** Goes on until the returned function is called. */
  keepAlive: () => () => void;
}

const COMPLETED = 90;
const DEAD = 7;
const RETRYING = 6;
const RUNNING = 17;
const WAITING = 26;
const SCHEDULED = 9;

export async function openStudio(hub: Hub): Promise<Studio> {
  for (const machine of [...MACHINES, GONE]) {
    await push(hub, machine, [snapshot(machine, Date.now())]);
    await register(hub, machine);
  }
  for (let n = 0; n < SCHEDULED; n += 1) await enqueue(hub, n, { delay_ms: 1_500_000 + n * 2_700_000 });
  for (let n = 0; n < COMPLETED + DEAD + RETRYING + RUNNING + WAITING; n += 1) {
    // The urgent ones are taken first, so that the newest are not all waiting.
    await enqueue(hub, n, { priority: n % 5 === 2 ? 5 : 0, max_attempts: 8 });
  }

  let claims = 0;
  const take = async (): Promise<{ job: ClaimedJob; worker: string }> => {
    claims += 1;
    // A step that meets every slot once before it meets one again.
    const worker = nth(SLOTS, claims * 7);
    const job = await hub.post<ClaimedJob>('/api/jobs/claim', { worker_id: worker });
    await hub.report(job, worker, 'heartbeat');
    await hub.writeLog(job, worker, 0, `${LOG}\n`);
    return { job, worker };
  };
  let [dead, completed, running] = ['', '', ''];
  for (let n = 0; n < COMPLETED + DEAD; n += 1) {
    const { job, worker } = await take();
    if (n % 14 === 6) {
      await hub.report(job, worker, 'fail', { ...nth(FAILURES, Math.floor(n / 14)), permanent: true });
      if (job.type === 'render-frame') dead = job.id;
    } else {
      const work = WORK.find(({ type }) => type === job.type) ?? WORK[0];
      await hub.report(job, worker, 'result', { result: work.result(n) });
      if (job.type === 'render-frame') completed = job.id;
    }
  }
  for (let n = 0; n < RETRYING; n += 1) {
    const { job, worker } = await take();
    await hub.report(job, worker, 'fail', { ...nth(FAILURES, n), retry_in_ms: 240_000 + n * 400_000 });
  }
  const held: Held[] = [];
  for (let n = 0; n < RUNNING; n += 1) {
    const { job, worker } = await take();
    held.push({ job, worker });
    const message = `part ${8 + ((n * 15) % 51)} of 64`;
    await hub.report(job, worker, 'progress', { percent: 12 + ((n * 23) % 80), message });
    if (job.type === 'render-frame') running = job.id;
  }
  await hub.post(`/api/jobs/${await enqueue(hub, 3)}/cancel`);
  await hub.token('viewer', 'Wall display');
  await hub.token('producer', 'Render desk');
  for (const name of ['render', 'flow', 'train']) {
    await hub.upload(`#!/bin/sh\nexec ${name} "$@"\n`.padEnd(400 + name.length * 999, '#'));
  }

  await hub.stop();
  execFileSync('python3', [join(import.meta.dirname, 'past.py'), hub.database, GONE.id]);
  await hub.start();
  for (const machine of MACHINES) await pushPast(hub, machine);
  return { running, dead, completed, machine: 'atlas', gone: GONE.id, keepAlive: () => keepAlive(hub, held) };
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function nth<Item>(items: readonly Item[], n: number): Item {
  return items[n % items.length] as Item;
}

function enqueue(hub: Hub, n: number, fields: object = {}): Promise<string> {
  const { type, queue, params } = nth(WORK, n);
  const tags = [n % 3 ? 'nightly' : 'client'];
  return hub.enqueue({ type, queue, params: params(n), max_runtime_ms: 7_200_000, tags, ...fields });
}

/** What agents do: without it, machines would turn grey before they are drawn. */
function keepAlive(hub: Hub, held: Held[]): () => void {
  const beat = async () => {
    for (const machine of MACHINES) {
      await push(hub, machine, [snapshot(machine, Date.now())]);
      const holding = held
        .filter(({ worker }) => worker === machine.id)
        .map(({ job }) => ({ lease_id: job.lease_id, phase: 'running' }));
      const body = { holding, busy: holding.length, rss_kb: 48_000 + machine.cores * 90, outbox: 0 };
      await hub.post(`/api/workers/${machine.id}/heartbeat`, body);
    }
  };
  void beat();
  const timer = setInterval(() => void beat(), 4_000);
  return () => clearInterval(timer);
}

function register(hub: Hub, { id, name, cores, ramGb, slots, os, tags }: Machine): Promise<unknown> {
  const types = WORK.map(({ type }) => type);
  const about = {
    hostname: `${id}.studio.example`,
    pid: 1_900 + cores,
    version: '0.1.0',
    arch: os === 'macos' ? 'aarch64' : 'x86_64',
  };
  return hub.post('/api/workers/register', {
    worker_id: id,
    name,
    cores,
    ram_gb: ramGb,
    slots,
    os,
    tags,
    types,
    ...about,
  });
}

/** The last hour every ten seconds, and the day before it every five minutes. */
async function pushPast(hub: Hub, machine: Machine): Promise<void> {
  const now = Date.now();
  const hour = Array.from({ length: 360 }, (_, n) => now - n * 10_000);
  const day = Array.from({ length: 276 }, (_, n) => now - 3_600_000 - n * 300_000);
  await push(
    hub,
    machine,
    [...day.reverse(), ...hour.reverse()].map((ts) => snapshot(machine, ts)),
  );
}

function push(hub: Hub, { id, name }: Machine, snapshots: object[]): Promise<unknown> {
  return hub.call('POST', `/api/ingest/${id}/batch`, snapshots, { 'x-node-name': name });
}

function snapshot({ cores, ramGb, gpu, load, id }: Machine, timestamp: number): object {
  const minutes = timestamp / 60_000 + id.charCodeAt(0) * 13;
  const wave = (period: number) => Math.sin((minutes / period) * 2 * Math.PI);
  const jitter = (seed: number) => (Math.abs(Math.sin(timestamp / 1_000 + seed) * 43_758.5) % 1) - 0.5;
  const within = (value: number) => Math.round(Math.min(99, Math.max(1, value)) * 10) / 10;
  const cpu = within(100 * load + 9 * wave(23) + 5 * wave(7) + 6 * jitter(0));
  const memory = within(38 + 40 * load + 6 * wave(41) + jitter(1));
  return {
    timestamp,
    cpu,
    cpuCores: Array.from({ length: cores }, (_, core) =>
      within(cpu + 26 * jitter(core + 2) + 6 * wave(5 + core)),
    ),
    memory: { percent: memory, used: (ramGb * memory) / 100, total: ramGb },
    disk: {
      read: within(30 * load + 20 * wave(11) + 14 * jitter(70)),
      write: within(12 * load + 8 * wave(9) + 6 * jitter(71)),
    },
    network: {
      rx: within(18 * load + 9 * wave(13) + 5 * jitter(72)),
      tx: within(7 * load + 3 * wave(17) + 2 * jitter(73)),
    },
    load: { avg1: (cores * cpu) / 100, avg5: cores * load, avg15: cores * load * 0.95 },
    gpus: gpu
      ? [
          {
            index: 0,
            vendor: 'NVIDIA',
            model: gpu,
            utilizationGpu: within(88 + 8 * wave(6) + 5 * jitter(80)),
            vramTotal: 49_140,
            vramUsed: 31_200 + 2_000 * wave(31),
            temperatureGpu: 68 + 4 * wave(19),
          },
        ]
      : [],
  };
}
