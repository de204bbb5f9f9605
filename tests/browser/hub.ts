/** The real hub as a child process, in a folder and on a port of its own. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, Program } from './processes';

export const SECRET = 'the-administrators-secret-of-this-test';
/** A debug build on a busy machine is slow to start; one that needs longer is broken. */
const READY_MAX_MS = 30_000;
/** The most jobs that the hub takes in one call. */
export const BATCH_MAX = 10_000;

type Json = Record<string, unknown>;

export interface Job extends Json {
  id: string;
  status: string;
  attempt: number;
}

export interface ClaimedJob extends Job {
  lease_id: string;
}

export class Hub {
  readonly folder = mkdtempSync(join(tmpdir(), 'forge-browser-hub-'));
  #program: Program | null = null;
  #port = 0;

  static async start(): Promise<Hub> {
    const hub = new Hub();
    await hub.start();
    const page = await (await fetch(hub.url)).text();
    if (page.includes('built without its dashboard')) {
      await hub.remove();
      throw new Error(`${binary('forge-hub')} has no dashboard in it: build it where npm is installed.`);
    }
    return hub;
  }

  /** On the same files, and after the first time on the same port. */
  async start(): Promise<void> {
    const ready = join(this.folder, 'ready');
    rmSync(ready, { force: true });
    const env = {
      HOST: '127.0.0.1',
      PORT: String(this.#port),
      SQLITE_PATH: this.database,
      FORGE_INGEST_SECRET: SECRET,
      FORGE_READY_FILE: ready,
    };
    const appears = appearance(this.folder, 'ready');
    const program = new Program([binary('forge-hub')], env, this.folder, join(this.folder, 'hub.log'));
    this.#program = program;
    try {
      await Promise.race([appears.seen, program.ended]);
      if (program.hasEnded) throw new Error(`the hub ended:\n${program.log}`);
      const address = readFileSync(ready, 'utf8').trim();
      this.#port = Number(address.slice(address.lastIndexOf(':') + 1));
    } finally {
      appears.stop();
    }
  }

  get database(): string {
    return join(this.folder, 'forge-fleet.sqlite');
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get log(): string {
    return this.#program?.log ?? '';
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
  }

  async stop(): Promise<void> {
    await this.#program?.stop();
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Calls the API, as the administrator unless told otherwise; a refusal is an error. */
  async call<Answer = Json>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${SECRET}`,
        ...(body === undefined || raw ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}\n${this.log}`);
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }

  get<Answer = Json>(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post<Answer = Json>(path: string, body: unknown = {}): Promise<Answer> {
    return this.call('POST', path, body);
  }

  async enqueue(job: Json): Promise<string> {
    return (await this.post<{ id: string }>('/api/jobs', job)).id;
  }

  /** Any number of jobs, made by `make` from their position. */
  async enqueueMany(count: number, make: (index: number) => Json): Promise<void> {
    for (let from = 0; from < count; from += BATCH_MAX) {
      const jobs = Array.from({ length: Math.min(BATCH_MAX, count - from) }, (_, index) =>
        make(from + index),
      );
      await this.post('/api/jobs/batch', jobs);
    }
  }

  job(id: string): Promise<Job> {
    return this.get(`/api/jobs/${id}`);
  }

  /** The job when it has ended. */
  end(id: string): Promise<Job> {
    return this.get(`/api/jobs/${id}?wait_ms=60000`);
  }

  /** Takes the next job of a type, as an agent would. */
  claim(worker: string, type: string): Promise<ClaimedJob> {
    return this.post('/api/jobs/claim', { worker_id: worker, types: [type] });
  }

  /** What the holder of a claimed job says about it: `result`, `fail`, `heartbeat`, `progress`. */
  report(job: ClaimedJob, worker: string, what: string, body: Json = {}): Promise<unknown> {
    return this.post(`/api/jobs/${job.id}/${what}`, { worker_id: worker, lease_id: job.lease_id, ...body });
  }

  writeLog(job: ClaimedJob, worker: string, offset: number, text: string): Promise<unknown> {
    const query = new URLSearchParams({ worker_id: worker, lease_id: job.lease_id, offset: String(offset) });
    return this.call('POST', `/api/jobs/${job.id}/logs?${query}`, Buffer.from(text), {
      'content-type': 'application/octet-stream',
    });
  }

  /** Does something to all jobs that match, to its end. */
  async bulk(action: string, filter: Json): Promise<number> {
    type Answer = { done: boolean; operation?: string; changed: number };
    let answer = await this.post<Answer>('/api/jobs/bulk', { action, filter });
    while (!answer.done) answer = await this.get<Answer>(`/api/operations/${answer.operation}`);
    return answer.changed;
  }

  async token(scope: string, name = `a ${scope}`): Promise<string> {
    return (await this.post<{ secret: string }>('/api/tokens', { name, scope })).secret;
  }

  /** Puts a program into the hub's store and answers its checksum. */
  async upload(program: string): Promise<string> {
    const checksum = createHash('sha256').update(program).digest('hex');
    await this.call('PUT', `/api/solvers/${checksum}`, Buffer.from(program));
    return checksum;
  }
}

/** Waits for a file to be put into a folder. */
function appearance(folder: string, name: string): { seen: Promise<void>; stop: () => void } {
  let stop = () => {};
  const seen = new Promise<void>((resolve, reject) => {
    const watcher = watch(folder, (_, changed) => {
      if (changed === name && read(join(folder, name))) resolve();
    });
    const timer = setTimeout(
      () => reject(new Error(`no ${name} within ${READY_MAX_MS / 1000} s; see ${folder}`)),
      READY_MAX_MS,
    );
    stop = () => {
      watcher.close();
      clearTimeout(timer);
    };
  });
  return { seen, stop };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
