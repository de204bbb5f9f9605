import { expect, it } from 'vitest';
import { countFilters, filterFrom, mayMatch, searchFor } from './filter';

it('goes to the address and back', () => {
  const filter = {
    status: 'failed',
    type: 'a b',
    queue: 'media/video',
    worker_id: 'anvil',
    tag: '<b>',
    q: '1&2',
    since: 1_000,
    until: 2_000,
  } as const;
  expect(filterFrom(searchFor(filter))).toEqual(filter);
  expect(searchFor({})).toBe('');
});

it('leaves out of an address what it does not understand', () => {
  expect(filterFrom('?status=gone&view=x&since=yesterday&until=&queue=%20&limit=5')).toEqual({});
  expect(filterFrom('?since=2026-11-16T13:00:00Z')).toEqual({ since: Date.UTC(2026, 10, 16, 13) });
});

it('counts what somebody has set, not what the page itself asks for', () => {
  expect(countFilters({ view: 'dead', queue: 'a', q: 'b' }, { view: 'dead' })).toBe(2);
});

it('tells the views apart as the hub does', () => {
  const now = 1_000;
  const check = (view: 'scheduled' | 'retrying' | 'dead' | 'cancelled', job: object) =>
    mayMatch({ view }, job, now);
  expect(check('scheduled', { status: 'pending', attempt: 0, run_at: 2_000 })).toBe(true);
  expect(check('scheduled', { status: 'pending', attempt: 1, run_at: 2_000 })).toBe(false);
  expect(check('scheduled', { status: 'pending', attempt: 0, run_at: 500 })).toBe(false);
  expect(check('retrying', { status: 'pending', attempt: 1, run_at: 2_000 })).toBe(true);
  expect(check('dead', { status: 'quarantined' })).toBe(true);
  expect(check('cancelled', { status: 'failed', fail_reason: 'cancelled' })).toBe(true);
  expect(check('cancelled', { status: 'failed', fail_reason: 'expired' })).toBe(false);
});
