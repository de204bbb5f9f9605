import { describe, expect, it } from 'vitest';
import type { QueueSummary } from '../../api/overview';
import { clicked, DEFAULT_ORDER, orderFrom, orderText, sorted } from './sorting';

const queue = (name: string, due: number, oldest_wait_ms: number | null, running = 0): QueueSummary => ({
  name,
  due,
  running,
  scheduled: 0,
  oldest_wait_ms,
  completed_last_hour: 0,
  failed_last_hour: 0,
});

const queues = [queue('q10', 0, null), queue('q2', 5, 900), queue('a/b', 5, 100, 3), queue('idle', 0, null)];
const names = (text: string) => sorted(queues, orderFrom(text)).map(({ name }) => name);

describe('queues', () => {
  it('begin with the deepest, and the busier of two', () => {
    expect(sorted(queues, DEFAULT_ORDER).map(({ name }) => name)).toEqual(['a/b', 'q2', 'idle', 'q10']);
  });
  it('without a waiting job come last, whichever way they are sorted', () => {
    expect(names('wait')).toEqual(['a/b', 'q2', 'idle', 'q10']);
    expect(names('-wait')).toEqual(['q2', 'a/b', 'idle', 'q10']);
  });
  it('are sorted by name as people count', () => {
    expect(names('name')).toEqual(['a/b', 'idle', 'q2', 'q10']);
  });
});

describe('the order', () => {
  it('is read from the address and written to it', () => {
    expect(orderText(orderFrom('-failed'))).toBe('-failed');
    expect(orderFrom('nonsense')).toEqual(DEFAULT_ORDER);
    expect(orderFrom(null)).toEqual(DEFAULT_ORDER);
  });
  it('turns round on a second click', () => {
    expect(clicked(DEFAULT_ORDER, 'due')).toEqual({ column: 'due', descending: false });
    expect(clicked(DEFAULT_ORDER, 'name')).toEqual({ column: 'name', descending: false });
    expect(clicked(DEFAULT_ORDER, 'failed')).toEqual({ column: 'failed', descending: true });
  });
});
