/** Jobs side by side in time: two that ran at once lie in two lanes. */
import type { Job } from '../../../api/types';

export interface Placed {
  job: Job;
  from: number;
  to: number;
  lane: number;
}

/** Puts each job into the first lane that is free when it starts. */
export function placeInLanes(jobs: Job[], now: number): Placed[] {
  const times = jobs.flatMap((job) => {
    const from = job.claimed_at ?? job.started_at;
    return from == null ? [] : [{ job, from, to: Math.max(from, endOf(job, now)) }];
  });
  times.sort((a, b) => a.from - b.from || a.job.id.localeCompare(b.job.id));
  const freeFrom: number[] = [];
  return times.map(({ job, from, to }) => {
    const free = freeFrom.findIndex((time) => time <= from);
    const lane = free === -1 ? freeFrom.length : free;
    freeFrom[lane] = to;
    return { job, from, to, lane };
  });
}

function endOf(job: Job, now: number): number {
  return job.finished_at ?? job.completed_at ?? now;
}
