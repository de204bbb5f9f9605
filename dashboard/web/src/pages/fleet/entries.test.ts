import { describe, expect, it } from 'vitest';
import type { Machine, MachineState, Snapshot, Worker } from '../../api/types';
import {
  addressOf,
  chooseFrom,
  type FleetFilter,
  filterFrom,
  joinFleet,
  lastSeenOf,
  sparkOf,
} from './entries';

const snapshot = (timestamp: number, cpu: number): Snapshot => ({
  timestamp,
  cpu,
  memory: { percent: 50, used: 8, total: 16 },
  disk: { read: 0, write: 0 },
  network: { rx: 0, tx: 0 },
  load: { avg1: 0, avg5: 0, avg15: 0 },
});

const machine = (id: string, status: MachineState, cpu: number, lastSeen = 1): Machine => ({
  id,
  name: id.toUpperCase(),
  status,
  lastSeen,
  latest: snapshot(1, cpu),
  history: [],
});

const worker = (id: string, parts: Partial<Worker> = {}): Worker => ({
  id,
  state: 'online',
  draining: false,
  cores: 1,
  ram_gb: 1,
  tags: [],
  slots: 1,
  types: [],
  queues: [],
  registered_at: 0,
  jobs: 0,
  ...parts,
});

const ALL: FleetFilter = { text: '', state: null, worker: null, tag: null, sort: 'name' };

const entries = joinFleet(
  [machine('m10', 'online', 20), machine('m2', 'offline', 99), machine('m3', 'degraded', 70, 500)],
  [
    worker('m10', { tags: ['gpu'], hostname: 'Rack-7', jobs: 2, last_heartbeat: 900 }),
    worker('far', { state: 'lost', types: ['render'] }),
  ],
);
const chosen = (part: Partial<FleetFilter>) => chooseFrom(entries, { ...ALL, ...part }).map(({ id }) => id);

describe('the fleet', () => {
  it('joins machines and workers by id, and keeps those that are only one of them', () => {
    expect(entries.map(({ id }) => id)).toEqual(['m10', 'm2', 'm3', 'far']);
    expect(entries[0]).toMatchObject({ machine: { id: 'm10' }, worker: { id: 'm10' } });
    expect(entries[3]?.machine).toBeNull();
  });
  it('is sorted as people count', () => {
    expect(chosen({})).toEqual(['far', 'm2', 'm3', 'm10']);
  });
  it('puts the worst state first', () => {
    expect(chosen({ sort: 'state' })).toEqual(['far', 'm2', 'm3', 'm10']);
    expect(chosen({ sort: 'jobs' })[0]).toBe('m10');
  });
  it('does not take an old measurement for a busy machine', () => {
    expect(chosen({ sort: 'cpu' }).slice(0, 2)).toEqual(['m3', 'm10']);
  });
  it('counts a lost worker without metrics as offline', () => {
    expect(chosen({ state: 'offline' })).toEqual(['far', 'm2']);
    expect(chosen({ worker: 'lost' })).toEqual(['far']);
  });
  it('finds words in names, hosts, tags and types', () => {
    expect(chosen({ text: 'rack gpu' })).toEqual(['m10']);
    expect(chosen({ text: 'RENDER' })).toEqual(['far']);
    expect(chosen({ tag: 'gpu' })).toEqual(['m10']);
  });
  it('was seen when it was last heard from in either way', () => {
    expect(entries.map(lastSeenOf)).toEqual([900, 1, 500, null]);
  });
});

describe('the address', () => {
  it('tells a filter and is read back', () => {
    const filter: FleetFilter = { text: 'a b', state: 'offline', worker: 'lost', tag: 'gpu&x', sort: 'cpu' };
    expect(filterFrom(new URLSearchParams(addressOf(filter).toString()))).toEqual(filter);
    expect(addressOf(ALL).toString()).toBe('');
  });
  it('ignores words it does not know', () => {
    expect(filterFrom(new URLSearchParams('state=broken&sort=luck'))).toEqual(ALL);
  });
});

describe('a sparkline', () => {
  it('has a gap where snapshots are missing', () => {
    const history = [0, 5, 10, 15, 60, 65].map((second) => snapshot(second * 1_000, second));
    expect(sparkOf(history, ({ cpu }) => cpu)).toEqual([0, 5, 10, 15, null, 60, 65]);
    expect(sparkOf([], ({ cpu }) => cpu)).toEqual([]);
  });
});
