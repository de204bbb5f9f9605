import { afterEach, beforeEach, expect, it, type MockInstance, vi } from 'vitest';
import { keys, newQueryClient } from '../api/queries';
import type { HubEvent, Job, Machine } from '../api/types';
import { applyToCache, Refresher } from './cache';
import type { LiveMessage, MachineNow } from './messages';

const client = newQueryClient();
let refresher: Refresher;
let invalidate: MockInstance<typeof client.invalidateQueries>;

beforeEach(() => {
  vi.useFakeTimers();
  client.clear();
  refresher = new Refresher(client);
  invalidate = vi.spyOn(client, 'invalidateQueries');
});

afterEach(() => {
  refresher.stop();
  vi.useRealTimers();
});

const told = (event: Partial<HubEvent>): LiveMessage => ({
  topic: 'event',
  id: '1-1',
  event: { event: 'job:running', ts: 5, ...event } as HubEvent,
});

const timesAsked = (key: readonly unknown[]) =>
  invalidate.mock.calls.filter(([filter]) => JSON.stringify(filter?.queryKey) === JSON.stringify(key)).length;

it('asks for the overview once a second, however much happens', () => {
  for (let ms = 0; ms < 10_000; ms += 10) {
    applyToCache(client, refresher, [told({ job_id: `j${ms}` })]);
    vi.advanceTimersByTime(10);
  }
  expect(timesAsked(keys.overview)).toBeGreaterThanOrEqual(10);
  expect(timesAsked(keys.overview)).toBeLessThanOrEqual(11);
});

it('does not forget the last event of a burst', () => {
  applyToCache(client, refresher, [told({})]);
  applyToCache(client, refresher, [told({})]);
  expect(timesAsked(keys.overview)).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect(timesAsked(keys.overview)).toBe(2);
  vi.advanceTimersByTime(60_000);
  expect(timesAsked(keys.overview)).toBe(2);
});

it('changes a cached job in place, and reads it again when it ends', () => {
  client.setQueryData(keys.job('a'), { id: 'a', status: 'assigned', attempt: 1 } as Job);
  applyToCache(client, refresher, [told({ job_id: 'a', status: 'running', attempt: 2, worker_id: 'anvil' })]);
  expect(client.getQueryData(keys.job('a'))).toMatchObject({
    status: 'running',
    attempt: 2,
    worker_id: 'anvil',
    started_at: 5,
  });
  expect(timesAsked(keys.job('a'))).toBe(0);
  applyToCache(client, refresher, [told({ event: 'job:completed', job_id: 'a', status: 'completed' })]);
  expect(timesAsked(keys.job('a'))).toBe(1);
  expect(client.getQueryData(keys.job('b'))).toBeUndefined();
});

it('changes machines in place and adds new ones', () => {
  const machine = (id: string, status: string) =>
    ({ id, name: id, status, lastSeen: 1, latest: null, history: [] }) as unknown as Machine;
  client.setQueryData(keys.fleet, [machine('a', 'online'), machine('b', 'online')]);
  applyToCache(client, refresher, [
    { topic: 'node', node: machine('b', 'offline') },
    { topic: 'node', node: machine('c', 'online') },
  ]);
  const fleet = client.getQueryData<Machine[]>(keys.fleet);
  expect(fleet?.map(({ id, status }) => `${id} ${status}`)).toEqual(['a online', 'b offline', 'c online']);
});

it('puts a snapshot behind those that it has, once', () => {
  const snapshot = (timestamp: number) => ({ timestamp, cpu: timestamp });
  const now = (timestamp: number) =>
    ({ id: 'a', name: 'a', status: 'online', lastSeen: 1, latest: snapshot(timestamp) }) as MachineNow;
  const times = () =>
    client.getQueryData<Machine[]>(keys.fleet)?.[0]?.history.map(({ timestamp }) => timestamp);
  client.setQueryData(keys.fleet, [{ ...now(2), history: [snapshot(1), snapshot(2)] }]);
  for (const timestamp of [2, 3, 3]) {
    applyToCache(client, refresher, [{ topic: 'node', node: now(timestamp) }]);
  }
  expect(times()).toEqual([1, 2, 3]);
  for (let timestamp = 4; timestamp <= 100; timestamp += 1) {
    applyToCache(client, refresher, [{ topic: 'node', node: now(timestamp) }]);
  }
  expect([times()?.length, times()?.[0], times()?.at(-1)]).toEqual([60, 41, 100]);
});

it('reads everything but the session again on a reset', async () => {
  client.setQueryData(keys.session, { scope: 'admin' });
  client.setQueryData(keys.fleet, []);
  applyToCache(client, refresher, [told({ job_id: 'x' }), { topic: 'reset' }]);
  expect(client.getQueryState(keys.fleet)?.isInvalidated).toBe(true);
  expect(client.getQueryState(keys.session)?.isInvalidated).toBe(false);
});
