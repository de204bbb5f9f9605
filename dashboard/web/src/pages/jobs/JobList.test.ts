import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isByTime, type JobsFilter } from '../../api/queries';
import type { HubEvent, Job } from '../../api/types';
import { JobList } from './JobList';

/** A hub's jobs, newest first by their number. */
class Jobs {
  all = new Map<string, Job>();
  pages = 0;

  add(number: number, fields: Partial<Job> = {}): Job {
    const id = `j${number}`;
    const job = {
      id,
      type: 'demo',
      queue: 'default',
      status: 'pending',
      priority: 0,
      created_at: number,
      run_at: number,
      attempt: 0,
      attempts: 0,
      max_attempts: 3,
      cancel_requested: false,
      params: {},
      tags: [],
      fail_history: [],
      ...fields,
    } as unknown as Job;
    this.all.set(id, job);
    return job;
  }

  source = {
    page: async (filter: JobsFilter, { limit, cursor }: { limit: number; cursor?: string | undefined }) => {
      this.pages += 1;
      const place = (job: Job) => (isByTime(filter) ? job.run_at : -job.created_at);
      const after = cursor ? Number(cursor) : Number.NEGATIVE_INFINITY;
      const fitting = [...this.all.values()]
        .filter((job) => place(job) > after && (!filter.status || job.status === filter.status))
        .sort((a, b) => place(a) - place(b));
      const jobs = fitting.slice(0, limit);
      const last = jobs.at(-1);
      const nextCursor = last && fitting.length > limit ? String(place(last)) : undefined;
      return { jobs, nextCursor };
    },
    job: async (id: string) => {
      const job = this.all.get(id);
      if (!job) throw new Error('gone');
      return job;
    },
  };
}

let jobs: Jobs;
const lists: JobList[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  jobs = new Jobs();
});

afterEach(() => {
  for (const list of lists.splice(0)) list.stop();
  vi.useRealTimers();
});

async function listOf(filter: JobsFilter): Promise<JobList> {
  const list = new JobList(filter, jobs.source);
  lists.push(list);
  list.start();
  await vi.advanceTimersByTimeAsync(0);
  return list;
}

const ids = (list: JobList) => list.state().rows.map((row) => row.id);
const told = (job_id: string, fields: Partial<HubEvent>) =>
  ({ job_id, ts: 5_000, type: 'demo', queue: 'default', ...fields }) as HubEvent;
const settle = () => vi.advanceTimersByTimeAsync(2_500);

it('reads page after page, and knows when all are here', async () => {
  for (let number = 1; number <= 1_150; number += 1) jobs.add(number);
  const list = await listOf({});
  expect(list.state()).toMatchObject({ phase: 'ready', complete: false });
  expect(ids(list)).toHaveLength(100);
  await list.loadMore();
  await list.loadMore();
  expect(list.state().complete).toBe(true);
  expect(new Set(ids(list)).size).toBe(1_150);
  await list.loadMore();
  expect(jobs.pages).toBe(3);
});

it('reads as many rows as were there when somebody left', async () => {
  for (let number = 1; number <= 2_500; number += 1) jobs.add(number);
  const list = new JobList({}, jobs.source);
  lists.push(list);
  list.start(1_400);
  await vi.advanceTimersByTimeAsync(0);
  expect(ids(list)).toHaveLength(2_000);
  expect(jobs.pages).toBe(2);
  await list.loadMore();
  expect(new Set(ids(list)).size).toBe(2_500);
});

it('changes a row in place, and takes it out when it no longer fits', async () => {
  jobs.add(1, { status: 'running' });
  jobs.add(2, { status: 'running' });
  const list = await listOf({ status: 'running' });
  list.apply([told('j1', { event: 'job:progress', progress: { at: 1, percent: 40 } })], 9);
  expect(list.state().rows[1]).toMatchObject({ id: 'j1', progress: { percent: 40 }, stale: false });
  list.apply([told('j2', { event: 'job:completed', status: 'completed' })], 9);
  expect(ids(list)).toEqual(['j1']);
});

it('forgets the machine of a job that waits for its next try', async () => {
  jobs.add(1, { status: 'running', worker_id: 'anvil', started_at: 3 });
  const list = await listOf({});
  const event = {
    event: 'job:failed',
    status: 'pending',
    run_at: 99,
    worker_id: 'anvil',
    reason: 'exit_code:3',
  };
  list.apply([told('j1', event as Partial<HubEvent>)], 9);
  expect(list.state().rows[0]).toMatchObject({
    worker_id: null,
    started_at: null,
    fail_reason: 'exit_code:3',
  });
});

it('reads a row that ended again once it is seen, for its result', async () => {
  jobs.add(1, { status: 'running' });
  const list = await listOf({});
  jobs.add(1, { status: 'completed', result: { answer: 42 } as never });
  list.apply([told('j1', { event: 'job:completed', status: 'completed' })], 9);
  expect(list.state().rows[0]).toMatchObject({ status: 'completed', result: null });
  list.keepFresh(list.state().rows);
  await settle();
  expect(list.state().rows[0]).toMatchObject({ result: '{"answer":42}', stale: false });
});

it('puts new jobs on top only while the top is looked at', async () => {
  jobs.add(1);
  const list = await listOf({});
  jobs.add(2);
  list.apply([told('j2', { event: 'job:created', status: 'pending' })], 9);
  await settle();
  expect(ids(list)).toEqual(['j2', 'j1']);
  list.setAtTop(false);
  jobs.add(3);
  list.apply([told('j3', { event: 'job:created', status: 'pending' })], 9);
  await settle();
  expect(ids(list)).toEqual(['j2', 'j1']);
  expect(list.state().unseen).toBe(1);
  list.setAtTop(true);
  await settle();
  expect(ids(list)).toEqual(['j3', 'j2', 'j1']);
  expect(list.state().unseen).toBe(0);
});

it('puts a job that came to match where its age belongs', async () => {
  for (let number = 1; number <= 150; number += 1) jobs.add(number * 2, { status: 'quarantined' });
  jobs.add(51, { status: 'running' });
  const list = await listOf({ view: 'dead' });
  await list.loadMore();
  jobs.add(51, { status: 'quarantined' });
  list.apply([told('j51', { event: 'job:quarantined', status: 'quarantined' })], 9);
  await settle();
  const at = ids(list).indexOf('j51');
  expect(ids(list).slice(at - 1, at + 2)).toEqual(['j52', 'j51', 'j50']);
});

it('does not ask the hub for each of a thousand events', async () => {
  jobs.add(1);
  const list = await listOf({});
  const before = jobs.pages;
  for (let number = 2; number <= 1_001; number += 1) {
    jobs.add(number);
    list.apply([told(`j${number}`, { event: 'job:created', status: 'pending' })], 9);
    await vi.advanceTimersByTimeAsync(1);
  }
  await settle();
  expect(jobs.pages - before).toBeLessThanOrEqual(4);
  expect(ids(list)[0]).toBe('j1001');
});

it('keeps jobs that wait for their time in the order in which they are due', async () => {
  for (let number = 1; number <= 300; number += 1) jobs.add(number, { run_at: 100_000 - number * 100 });
  const list = await listOf({ view: 'scheduled' });
  expect(ids(list).slice(0, 3)).toEqual(['j300', 'j299', 'j298']);
  expect(list.state().complete).toBe(false);
  jobs.add(300, { run_at: 70_250 });
  const postponed = { event: 'job:updated', status: 'pending', run_at: 70_250 } as Partial<HubEvent>;
  list.apply([told('j300', postponed)], 9);
  expect(ids(list).slice(0, 4)).toEqual(['j299', 'j298', 'j300', 'j297']);
  await list.loadMore();
  expect(new Set(ids(list)).size).toBe(300);
  expect(ids(list).at(-1)).toBe('j1');
  jobs.add(301, { run_at: 70_150 });
  list.apply([told('j301', { event: 'job:created', status: 'pending', attempt: 0, run_at: 70_150 })], 9);
  await settle();
  expect(ids(list).slice(0, 4)).toEqual(['j299', 'j301', 'j298', 'j300']);
  list.leaveOutDue(70_210);
  expect(ids(list).slice(0, 2)).toEqual(['j300', 'j297']);
});
