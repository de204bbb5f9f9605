/** States by colour and word, never by colour alone. */
import type { JobStatus, JobView, MachineState, WorkerState } from '../api/types';
import styles from './Badge.module.css';
import { cx } from './classes';

export type Tone = 'ok' | 'info' | 'warn' | 'bad' | 'dead' | 'idle' | 'busy';

interface Look {
  tone: Tone;
  word: string;
  title: string;
}

export const JOB_LOOKS: Record<JobStatus, Look> = {
  pending: { tone: 'idle', word: 'Pending', title: 'Waits for a worker' },
  assigned: { tone: 'busy', word: 'Assigned', title: 'A worker has it and prepares to run it' },
  running: { tone: 'info', word: 'Running', title: 'A worker runs it' },
  completed: { tone: 'ok', word: 'Completed', title: 'Ended with a result' },
  failed: { tone: 'bad', word: 'Failed', title: 'Ended without a result' },
  quarantined: {
    tone: 'dead',
    word: 'Quarantined',
    title: 'Dead: it failed too often and waits for a person',
  },
};

export type AnyView = JobView | 'due';

export const VIEW_LOOKS: Record<AnyView, Look> = {
  due: { tone: 'idle', word: 'Due', title: 'May be claimed now' },
  scheduled: { tone: 'busy', word: 'Scheduled', title: 'Its time has not come yet' },
  retrying: { tone: 'warn', word: 'Retrying', title: 'Failed and waits for its next try' },
  blocked: { tone: 'idle', word: 'Blocked', title: 'Waits for other jobs or for a limit' },
  dead: { tone: 'dead', word: 'Dead', title: 'Quarantined: it failed too often and waits for a person' },
  cancelled: { tone: 'idle', word: 'Cancelled', title: 'Stopped by a person' },
};

export const MACHINE_LOOKS: Record<MachineState, Look> = {
  online: { tone: 'ok', word: 'Online', title: 'Heard from in the last 15 seconds' },
  degraded: { tone: 'warn', word: 'Degraded', title: 'Late: not heard from for 15 to 60 seconds' },
  offline: { tone: 'bad', word: 'Offline', title: 'Not heard from for over a minute' },
};

export const WORKER_LOOKS: Record<WorkerState, Look> = {
  online: { tone: 'ok', word: 'Online', title: 'Takes jobs' },
  draining: { tone: 'warn', word: 'Draining', title: 'Finishes what it has and takes nothing new' },
  lost: { tone: 'bad', word: 'Lost', title: 'Its heartbeat stopped' },
};

function StateBadge({ look, small = false }: { look: Look; small?: boolean }) {
  return (
    <span className={cx(styles.badge, styles[look.tone], small && styles.small)} title={look.title}>
      <span className={styles.dot} aria-hidden="true" />
      {look.word}
    </span>
  );
}

interface BadgeProps<State> {
  state: State;
  small?: boolean;
}

/** A word the hub may know and this page does not yet is shown as it is. */
function lookOf(looks: Record<string, Look>, state: string): Look {
  return looks[state] ?? { tone: 'idle', word: state, title: state };
}

export function JobBadge({ state, small = false }: BadgeProps<JobStatus>) {
  return <StateBadge look={lookOf(JOB_LOOKS, state)} small={small} />;
}

export function ViewBadge({ state, small = false }: BadgeProps<AnyView>) {
  return <StateBadge look={lookOf(VIEW_LOOKS, state)} small={small} />;
}

export function MachineBadge({ state, small = false }: BadgeProps<MachineState>) {
  return <StateBadge look={lookOf(MACHINE_LOOKS, state)} small={small} />;
}

export function WorkerBadge({ state, small = false }: BadgeProps<WorkerState>) {
  return <StateBadge look={lookOf(WORKER_LOOKS, state)} small={small} />;
}

/** Any other short word with a colour. */
export function Badge({ tone, children, title }: { tone: Tone; children: string; title?: string }) {
  return <StateBadge look={{ tone, word: children, title: title ?? children }} />;
}
