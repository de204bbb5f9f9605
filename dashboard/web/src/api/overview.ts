import type { JobStatus, MachineState, WorkerState } from './types';

/** The fleet in numbers, as `GET /api/overview` tells it. */
export interface Overview {
  ts: number;
  machines: Record<MachineState, number>;
  workers: Record<WorkerState, number>;
  /** Of workers that are alive. */
  slots: number;
  busy: number;
  jobs: Record<JobStatus, number>;
  views: Record<'due' | 'scheduled' | 'retrying' | 'blocked' | 'dead' | 'cancelled', number>;
  oldest_waiting_ms: number | null;
  queues: QueueSummary[];
  today: Ended;
  total: Ended;
  minutes: Period[];
  days: Period[];
}

export interface QueueSummary {
  name: string;
  due: number;
  scheduled: number;
  running: number;
  oldest_wait_ms: number | null;
  completed_last_hour: number;
  failed_last_hour: number;
}

export interface Ended {
  completed: number;
  failed: number;
}

export interface Period extends Ended {
  /** When it began. */
  ts: number;
  failed_attempts: number;
}
