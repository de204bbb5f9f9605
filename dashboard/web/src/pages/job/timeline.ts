/** What each attempt of a job spent its time on. */
import type { Attempt, Job } from '../../api/types';

export type PhaseName = 'backoff' | 'waiting' | 'preparing' | 'running' | 'reporting';

export interface Phase {
  name: PhaseName;
  ms: number;
  /** It goes on. */
  isOpen: boolean;
}

export interface Stage {
  attempt: number;
  /** The attempt's outcome, or `waiting` for one that nobody has claimed yet. */
  outcome: string;
  workerId: string | null;
  startedAt: number | null;
  phases: Phase[];
}

/** Every attempt, and the one that is waited for. */
export function stagesOf(job: Job, attempts: readonly Attempt[], now: number): Stage[] {
  const stages = attempts.map((attempt, index) => stageOf(job, attempt, attempts[index - 1], now));
  if (job.status !== 'pending') return stages;
  const last = attempts.at(-1);
  const phases = waits(last?.ended_at ?? null, job.created_at, job.run_at, null, now);
  return [
    ...stages,
    { attempt: job.attempt + 1, outcome: 'waiting', workerId: null, startedAt: null, phases },
  ];
}

function stageOf(job: Job, attempt: Attempt, before: Attempt | undefined, now: number): Stage {
  const { claimed_at: claimed, started_at: started, ended_at: ended } = attempt;
  const end = ended ?? now;
  const isOpen = ended == null;
  const due = attempt.due_at ?? (before ? before.ended_at : job.created_at) ?? null;
  const phases: Phase[] =
    claimed == null ? [] : waits(before?.ended_at ?? null, job.created_at, due, claimed, now);
  if (claimed != null) {
    phases.push({ name: 'preparing', ms: (started ?? end) - claimed, isOpen: isOpen && started == null });
  }
  if (started != null) {
    const report = isOpen ? 0 : reporting(attempt, end - started);
    phases.push({ name: 'running', ms: end - started - report, isOpen });
    if (report > 0) phases.push({ name: 'reporting', ms: report, isOpen: false });
  }
  return {
    attempt: attempt.attempt,
    outcome: attempt.outcome,
    workerId: attempt.worker_id ?? null,
    startedAt: started ?? claimed ?? null,
    phases: phases.filter((phase) => phase.ms > 0 || phase.isOpen),
  };
}

/** From the end of the attempt before: its backoff until it was due, then the wait for a worker. */
function waits(
  endedBefore: number | null,
  created: number,
  due: number | null,
  claimed: number | null,
  now: number,
): Phase[] {
  const from = endedBefore ?? created;
  const until = claimed ?? now;
  const dueAt = Math.max(from, due ?? from);
  const backoff = Math.min(dueAt, until) - from;
  const isAhead = claimed === null && dueAt > now;
  const phases: Phase[] = [];
  if (backoff > 0 || isAhead) phases.push({ name: 'backoff', ms: Math.max(0, backoff), isOpen: isAhead });
  if (!isAhead) phases.push({ name: 'waiting', ms: Math.max(0, until - dueAt), isOpen: claimed === null });
  return phases;
}

/** What lies between the end of the program and the hub's knowing of it, where the worker measured it. */
function reporting(attempt: Attempt, ms: number): number {
  const wall = (attempt.usage as { wall_ms?: unknown } | null | undefined)?.wall_ms;
  return typeof wall === 'number' ? Math.max(0, Math.min(ms, ms - wall)) : 0;
}
