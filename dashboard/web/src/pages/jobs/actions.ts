/** What can be done to jobs, to some by their ids or to all that match. */
import { api, ask } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { JobsFilter } from '../../api/queries';
import type { Operation } from '../../api/scopes';
import type { BulkAction, BulkAnswer, JobStatus } from '../../api/types';

interface ActionWords {
  label: string;
  /** "Retried 3 jobs". */
  past: string;
  /** What happens, for who is about to do it. */
  explains: string;
  /** May be called for a single job by who may call this. */
  needs: Operation;
  /** The states it fits. */
  fits: readonly JobStatus[];
  danger?: boolean;
}

export const ACTIONS: Record<BulkAction, ActionWords> = {
  retry: {
    label: 'Retry',
    past: 'Retried',
    explains: 'They wait for a worker again, with all their attempts. Their history stays.',
    needs: 'retry',
    fits: ['failed', 'quarantined'],
  },
  run_now: {
    label: 'Run now',
    past: 'Made due',
    explains: 'They no longer wait for their time: the next free worker takes them.',
    needs: 'run_now',
    fits: ['pending'],
  },
  set_priority: {
    label: 'Change priority',
    past: 'Changed the priority of',
    explains: 'Higher is sooner. Only pending jobs have a priority that matters.',
    needs: 'patch',
    fits: ['pending'],
  },
  cancel: {
    label: 'Cancel',
    past: 'Cancelled',
    explains:
      'They will not run; running ones are stopped and what they did is lost. They stay listed as failed.',
    needs: 'cancel',
    fits: ['pending', 'assigned', 'running'],
    danger: true,
  },
  kill: {
    label: 'Kill',
    past: 'Killed',
    explains: 'They are put aside as dead and will not run until somebody retries them.',
    needs: 'kill',
    fits: ['pending'],
    danger: true,
  },
  delete: {
    label: 'Delete',
    past: 'Deleted',
    explains: 'They, their results and their logs are gone for good. Jobs that have not ended are skipped.',
    needs: 'remove',
    fits: ['completed', 'failed', 'quarantined'],
    danger: true,
  },
};

export type Target = { ids: readonly string[] } | { filter: JobsFilter };

export interface Outcome {
  changed: number;
  /** Their state does not allow it, or they are gone. */
  skipped: number;
}

/** Calls that are under way at a time. */
const CALLS_MAX = 6;
const LOOK_EVERY_MS = 400;

/** How many jobs a filter means, before anything is done to them. */
export async function countMatching(action: BulkAction, filter: JobsFilter): Promise<BulkAnswer> {
  // The hub wants a priority with this action even where it only counts.
  const priority = action === 'set_priority' ? { priority: 0 } : {};
  return ask(api.POST('/api/jobs/bulk', { body: { action, filter, dry_run: true, ...priority } }));
}

/** Does it, and tells how far it is. Nothing is lost when the page is left: the hub goes on. */
export async function act(
  action: BulkAction,
  target: Target,
  priority: number | undefined,
  onProgress: (outcome: Outcome) => void,
): Promise<Outcome> {
  if ('ids' in target) return actOnEach(target.ids, (id) => actOn(action, id, priority), onProgress);
  const body = { action, filter: target.filter, ...(priority === undefined ? {} : { priority }) };
  let answer = await ask(api.POST('/api/jobs/bulk', { body }));
  while (!answer.done && answer.operation) {
    onProgress(answer);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const path = { id: answer.operation };
    answer = await ask(api.GET('/api/operations/{id}', { params: { path } }));
  }
  return answer;
}

export async function actOn(action: BulkAction, id: string, priority?: number): Promise<unknown> {
  const params = { path: { id } };
  switch (action) {
    case 'retry':
      return ask(api.POST('/api/jobs/{id}/retry', { params }));
    case 'run_now':
      return ask(api.POST('/api/jobs/{id}/run-now', { params }));
    case 'cancel':
      return ask(api.POST('/api/jobs/{id}/cancel', { params }));
    case 'kill':
      return ask(api.POST('/api/jobs/{id}/kill', { params }));
    case 'delete':
      return ask(api.DELETE('/api/jobs/{id}', { params: { ...params, query: { purge: true } } }));
    case 'set_priority':
      return ask(api.PATCH('/api/jobs/{id}', { params, body: { priority: priority ?? 0 } }));
  }
}

async function actOnEach(
  ids: readonly string[],
  call: (id: string) => Promise<unknown>,
  onProgress: (outcome: Outcome) => void,
): Promise<Outcome> {
  const outcome = { changed: 0, skipped: 0 };
  const waiting = [...ids];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await call(id);
        outcome.changed += 1;
      } catch (error) {
        const refused = error instanceof ApiError && (error.status === 409 || error.status === 404);
        // The hub cannot be asked: what is left would only fail as well.
        if (!refused) {
          waiting.length = 0;
          throw error;
        }
        outcome.skipped += 1;
      }
      onProgress({ ...outcome });
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_MAX, ids.length) }, work));
  return outcome;
}
