/** What a person should look at first. */
import type { Overview } from '../../api/types';
import { formatAge, plural } from '../../ui/format';

export interface Concern {
  tone: 'bad' | 'warn' | 'dead';
  text: string;
  /** Why it matters, or what to do. */
  hint: string;
  href: string;
}

/** A due job that waits longer makes its queue old. */
export const OLD_WAIT_MS = 5 * 60_000;
/** Old queues named one by one; the others are counted. */
const QUEUES_NAMED = 3;

/** The worst first; empty when all is well. */
export function concernsOf(overview: Overview): Concern[] {
  const { machines, workers, views, queues } = overview;
  const concerns: Concern[] = [];
  if (workers.online + workers.draining === 0 && views.due > 0) {
    concerns.push({
      tone: 'bad',
      text: `${plural(views.due, 'job')} due and no worker alive`,
      hint: 'Start an agent, or add a machine',
      href: '/fleet',
    });
  }
  if (machines.offline > 0) {
    concerns.push({
      tone: 'bad',
      text: `${plural(machines.offline, 'machine')} offline`,
      hint: 'Not heard from for over a minute',
      href: '/fleet?state=offline',
    });
  }
  if (workers.lost > 0) {
    concerns.push({
      tone: 'bad',
      text: `${plural(workers.lost, 'worker')} lost`,
      hint: 'Their heartbeat stopped; their jobs go to others',
      href: '/fleet?worker=lost',
    });
  }
  if (views.dead > 0) {
    concerns.push({
      tone: 'dead',
      text: `${plural(views.dead, 'job')} dead`,
      hint: 'Failed too often; retry or delete them',
      href: '/dead',
    });
  }
  concerns.push(...oldQueues(queues));
  if (machines.degraded > 0) {
    concerns.push({
      tone: 'warn',
      text: `${plural(machines.degraded, 'machine')} degraded`,
      hint: 'Late by 15 to 60 seconds',
      href: '/fleet?state=degraded',
    });
  }
  return concerns;
}

function oldQueues(queues: Overview['queues']): Concern[] {
  const old = queues
    .filter((queue) => (queue.oldest_wait_ms ?? 0) > OLD_WAIT_MS)
    .sort((a, b) => (b.oldest_wait_ms ?? 0) - (a.oldest_wait_ms ?? 0));
  const concerns: Concern[] = old.slice(0, QUEUES_NAMED).map((queue) => ({
    tone: 'warn',
    text: `Queue ${queue.name} is old`,
    hint: `${plural(queue.due, 'job')} due, the oldest for ${formatAge(queue.oldest_wait_ms)}`,
    href: `/jobs?status=pending&queue=${encodeURIComponent(queue.name)}`,
  }));
  if (old.length > QUEUES_NAMED) {
    const others = old.length - QUEUES_NAMED;
    concerns.push({
      tone: 'warn',
      text: `${plural(others, 'more queue')} old`,
      hint: 'Jobs wait there for over five minutes',
      href: '/queues',
    });
  }
  return concerns;
}
