/** What the form of a new job holds, and what of it is sent. */
import { parseExact, stringifyExact } from '../../api/exactJson';
import type { Job, NewJob } from '../../api/types';
import { checkJson } from './jsonCheck';
import { fromLocalInput } from './localTime';

export const UNITS = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export type Unit = keyof typeof UNITS;

export interface Span {
  value: string;
  unit: Unit;
}

export interface Draft {
  type: string;
  queue: string;
  params: string;
  priority: string;
  when: 'now' | 'at' | 'after';
  at: string;
  after: Span;
  attempts: string;
  runtime: Span;
  hasRuntimeLimit: boolean;
  tags: string;
  key: string;
  /** Where the program comes from. */
  program: 'handler' | 'command' | 'solver' | 'url';
  command: string;
  checksum: string;
  url: string;
  backoff: NewJob['backoff'];
}

export const EMPTY: Draft = {
  type: '',
  queue: '',
  params: '{}',
  priority: '',
  when: 'now',
  at: '',
  after: { value: '', unit: 'min' },
  attempts: '',
  runtime: { value: '', unit: 'min' },
  hasRuntimeLimit: true,
  tags: '',
  key: '',
  program: 'handler',
  command: '',
  checksum: '',
  url: '',
  backoff: null,
};

/** The form filled from a job; its times are left out, for they are over. */
export function draftOf(job: Job): Draft {
  return {
    ...EMPTY,
    type: job.type,
    queue: job.queue,
    params: stringifyExact(job.params, 2),
    priority: job.priority === 0 ? '' : String(job.priority),
    attempts: String(job.max_attempts),
    runtime: job.max_runtime_ms == null ? EMPTY.runtime : spanOf(job.max_runtime_ms),
    hasRuntimeLimit: job.max_runtime_ms != null,
    tags: job.tags.join(', '),
    program: job.solver_url ? 'url' : job.solver_checksum ? 'solver' : job.command ? 'command' : 'handler',
    command: job.command ?? '',
    checksum: job.solver_checksum ?? '',
    url: job.solver_url ?? '',
    backoff: job.backoff ?? null,
  };
}

/** In the largest unit that needs no fraction. */
export function spanOf(ms: number): Span {
  const units = (Object.keys(UNITS) as Unit[]).reverse();
  const unit = units.find((candidate) => ms % UNITS[candidate] === 0) ?? 's';
  return { value: String(ms / UNITS[unit]), unit };
}

/** What is wrong, by the API's names of the fields. */
export type Mistakes = Partial<Record<string, string>>;

/** The job to send, as far as it can be told, and what is wrong with it. */
export function bodyFrom(draft: Draft): { body: NewJob; mistakes: Mistakes } {
  const body: NewJob = { type: draft.type.trim() };
  const mistakes: Mistakes = {};
  if (body.type === '') mistakes.type = 'A type says which kind of work it is, such as resize.';
  if (draft.queue.trim()) body.queue = draft.queue.trim();
  const wrong = checkJson(draft.params);
  if (wrong) mistakes.params = `Line ${wrong.line}, column ${wrong.column}: ${wrong.message}.`;
  else body.params = parseExact(draft.params) as NonNullable<NewJob['params']>;
  takeWhole('priority', draft.priority);
  takeWhole('max_attempts', draft.attempts);
  takeTime();
  takeRuntime();
  const tags = draft.tags.split(',').flatMap((tag) => tag.trim() || []);
  if (tags.length > 0) body.tags = tags;
  if (draft.key.trim()) body.idempotency_key = draft.key.trim();
  if (draft.backoff) body.backoff = draft.backoff;
  takeProgram();
  return { body, mistakes };

  function takeWhole(name: 'priority' | 'max_attempts', text: string) {
    if (text.trim() === '') return;
    if (Number.isSafeInteger(Number(text))) body[name] = Number(text);
    else mistakes[name] = 'A whole number is expected.';
  }

  function takeTime() {
    if (draft.when === 'at') {
      const at = fromLocalInput(draft.at);
      if (at === null) mistakes.run_at = 'Choose a day and a time.';
      else body.run_at = at;
    } else if (draft.when === 'after') {
      const ms = msOf(draft.after);
      if (ms === null) mistakes.delay_ms = 'How long? A number is expected.';
      else body.delay_ms = ms;
    }
  }

  function takeRuntime() {
    if (!draft.hasRuntimeLimit) body.max_runtime_ms = null;
    else if (draft.runtime.value.trim() !== '') {
      const ms = msOf(draft.runtime);
      if (ms === null || ms === 0) mistakes.max_runtime_ms = 'A number above 0 is expected.';
      else body.max_runtime_ms = ms;
    }
  }

  function takeProgram() {
    const checksum = draft.checksum.trim().toLowerCase();
    if (draft.program === 'command') {
      if (draft.command.trim()) body.command = draft.command;
      else mistakes.command = 'A line for the shell is expected.';
    } else if (draft.program === 'solver' || draft.program === 'url') {
      if (/^[0-9a-f]{64}$/.test(checksum)) body.solver_checksum = checksum;
      else
        mistakes.solver_checksum =
          draft.program === 'solver' ? 'Choose a solver or upload one.' : 'A sha256 has 64 hex digits.';
      if (draft.program === 'url') {
        if (/^https?:\/\/[^/\s]/.test(draft.url.trim())) body.solver_url = draft.url.trim();
        else mistakes.solver_url = 'An address that begins with https:// or http:// is expected.';
      }
    }
  }
}

function msOf({ value, unit }: Span): number | null {
  const number = Number(value);
  return value.trim() !== '' && number >= 0 ? Math.round(number * UNITS[unit]) : null;
}
