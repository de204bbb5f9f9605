import { expect, it } from 'vitest';
import type { Attempt, Job } from '../../api/types';
import { stagesOf } from './timeline';

const job = (fields: Partial<Job>) => ({ created_at: 1_000, run_at: 1_000, attempt: 0, ...fields }) as Job;
const told = (stages: ReturnType<typeof stagesOf>) =>
  stages.map(({ outcome, phases }) => [
    outcome,
    ...phases.map(({ name, ms, isOpen }) => `${name} ${ms}${isOpen ? '…' : ''}`),
  ]);

it('tells each part of an attempt that is over, with the report where it was measured', () => {
  const attempts: Attempt[] = [
    {
      attempt: 1,
      outcome: 'completed',
      due_at: 1_000,
      claimed_at: 3_000,
      started_at: 3_500,
      ended_at: 9_000,
      usage: { wall_ms: 5_000 } as never,
    },
  ];
  expect(told(stagesOf(job({ status: 'completed', attempt: 1 }), attempts, 20_000))).toEqual([
    ['completed', 'waiting 2000', 'preparing 500', 'running 5000', 'reporting 500'],
  ]);
});

it('parts the backoff from the wait for a worker', () => {
  const attempts: Attempt[] = [
    { attempt: 1, outcome: 'failed', due_at: 1_000, claimed_at: 1_000, started_at: 1_100, ended_at: 2_000 },
    { attempt: 2, outcome: 'running', due_at: 5_000, claimed_at: 6_000, started_at: 6_200 },
  ];
  expect(told(stagesOf(job({ status: 'running', attempt: 2 }), attempts, 7_000))).toEqual([
    ['failed', 'preparing 100', 'running 900'],
    ['running', 'backoff 3000', 'waiting 1000', 'preparing 200', 'running 800…'],
  ]);
});

it('shows what a pending job waits for', () => {
  expect(told(stagesOf(job({ status: 'pending', run_at: 9_000 }), [], 4_000))).toEqual([
    ['waiting', 'backoff 3000…'],
  ]);
  expect(told(stagesOf(job({ status: 'pending' }), [], 4_000))).toEqual([['waiting', 'waiting 3000…']]);
});
