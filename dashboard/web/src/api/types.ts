/** Short names for the API's types, and those of calls that stream. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Job = Schemas['Job'];
/** One claim of a job; `due_at` is when it could have been claimed, where the hub tells it. */
export type Attempt = Schemas['Attempt'] & { due_at?: number | null };
export type Failure = Schemas['Failure'];
export type NewJob = Schemas['NewJob'];
export type Solver = Schemas['Solver'];
export type BulkAction = Schemas['BulkAction'];
export type BulkAnswer = Schemas['BulkAnswer'];
export type JobStatus = Schemas['Status'];
export type JobView = Schemas['View'];
export type Machine = Schemas['Node'];
export type MachineState = Schemas['NodeStatus'];
export type Snapshot = Schemas['Snapshot'];
export type Gpu = Schemas['Gpu'];
export type Worker = Schemas['Worker'];
export type WorkerState = Schemas['WorkerState'];
export type NodeHistory = Schemas['NodeHistory'];
export type HistoryPoint = Schemas['HistoryPoint'];
export type HistoryRange = Schemas['HistoryRange'];
export type Spread = Schemas['Spread'];
export type Token = Schemas['Token'];
export type Settings = Schemas['Settings'];
export type Problem = Schemas['Problem'];
export type Session = Schemas['Session'];
export type LoggedIn = Schemas['LoggedIn'];
export type Scope = Schemas['Scope'];
export type HubEvent = Schemas['Event'];
export type EventKind = Schemas['EventKind'];
export type Overview = Schemas['Overview'];
export type QueueSummary = Schemas['QueueOverview'];
export type Period = Schemas['Throughput'];

export const JOB_STATUSES = [
  'pending',
  'assigned',
  'running',
  'completed',
  'failed',
  'quarantined',
] as const satisfies readonly JobStatus[];
