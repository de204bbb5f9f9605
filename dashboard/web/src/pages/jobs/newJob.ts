/** A job to be submitted, as the API wants it. */
import { stringifyExact } from '../../api/exactJson';
import type { Job, NewJob } from '../../api/types';

/** What would submit the same job again; its times are left out, for they are over. */
export function bodyOf(job: Job): NewJob {
  const body: NewJob = { type: job.type, queue: job.queue, params: job.params };
  if (job.priority !== 0) body.priority = job.priority;
  body.max_attempts = job.max_attempts;
  body.max_runtime_ms = job.max_runtime_ms ?? null;
  if (job.tags.length > 0) body.tags = job.tags;
  if (job.backoff) body.backoff = job.backoff;
  if (job.command) body.command = job.command;
  if (job.solver_url) body.solver_url = job.solver_url;
  if (job.solver_checksum) body.solver_checksum = job.solver_checksum;
  return body;
}

/** The text to send, with every digit of the params. */
export function bodyText(body: NewJob): string {
  return stringifyExact(body);
}
