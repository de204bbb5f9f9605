import { expect, it } from 'vitest';
import type { Overview } from '../../api/types';
import { concernsOf, OLD_WAIT_MS } from './attention';

const calm: Overview = {
  ts: 0,
  machines: { online: 2, degraded: 0, offline: 0 },
  workers: { online: 2, draining: 0, lost: 0 },
  slots: 4,
  busy: 1,
  jobs: { pending: 0, assigned: 0, running: 1, completed: 5, failed: 0, quarantined: 0 },
  views: { due: 0, scheduled: 0, retrying: 0, blocked: 0, dead: 0, cancelled: 0 },
  oldest_waiting_ms: null,
  queues: [],
  today: { completed: 5, failed: 0 },
  total: { completed: 5, failed: 0 },
  minutes: [],
  days: [],
};

const queue = (name: string, oldest_wait_ms: number | null) => ({
  name,
  due: 3,
  scheduled: 0,
  running: 0,
  oldest_wait_ms,
  completed_last_hour: 0,
  failed_last_hour: 0,
});

it('a calm fleet needs nobody', () => {
  expect(concernsOf(calm)).toEqual([]);
  expect(concernsOf({ ...calm, queues: [queue('a', null), queue('b', OLD_WAIT_MS)] })).toEqual([]);
});

it('each trouble is told and leads to where it can be seen', () => {
  const concerns = concernsOf({
    ...calm,
    machines: { online: 1, degraded: 1, offline: 2 },
    workers: { online: 1, draining: 0, lost: 1 },
    views: { ...calm.views, dead: 1 },
    queues: [queue('a/b', OLD_WAIT_MS + 60_000)],
  });
  expect(concerns.map(({ text, href }) => [text, href])).toEqual([
    ['2 machines offline', '/fleet?state=offline'],
    ['1 worker lost', '/fleet?worker=lost'],
    ['1 job dead', '/dead'],
    ['Queue a/b is old', '/jobs?status=pending&queue=a%2Fb'],
    ['1 machine degraded', '/fleet?state=degraded'],
  ]);
});

it('jobs that nobody can run come first', () => {
  const concerns = concernsOf({
    ...calm,
    workers: { online: 0, draining: 0, lost: 2 },
    views: { ...calm.views, due: 7 },
  });
  expect(concerns[0]?.text).toBe('7 jobs due and no worker alive');
});

it('many old queues are counted, the oldest named', () => {
  const queues = [6, 9, 7, 8, 10].map((minutes) => queue(`q${minutes}`, minutes * 60_000));
  expect(concernsOf({ ...calm, queues }).map(({ text }) => text)).toEqual([
    'Queue q10 is old',
    'Queue q9 is old',
    'Queue q8 is old',
    '2 more queues old',
  ]);
});
