/** Parts that cards, rows and the page of a machine show of a worker. */
import { Link } from 'wouter';
import type { Worker } from '../../api/types';
import { cx } from '../../ui/classes';
import { formatBytes, formatNumber, plural } from '../../ui/format';
import styles from './WorkerParts.module.css';

const OS_NAMES: Record<string, string> = { linux: 'Linux', macos: 'macOS', windows: 'Windows' };

export function systemOf({ os, arch }: Worker): string {
  const parts = [os && (OS_NAMES[os] ?? os), arch].filter(Boolean);
  return parts.length > 0 ? parts.join(' ') : 'System not told';
}

export function runningHref(workerId: string): string {
  return `/jobs?status=running&worker_id=${encodeURIComponent(workerId)}`;
}

/** How many jobs it holds; leads to them. */
export function JobsChip({ worker }: { worker: Worker }) {
  return (
    <Link href={runningHref(worker.id)} className={cx(styles.chip, worker.jobs > 0 && styles.busy)}>
      {plural(worker.jobs, 'job')}
    </Link>
  );
}

/** The hub knows of a claim before the worker's next heartbeat tells of a busy slot. */
export function busySlots({ jobs, slots }: Worker): number {
  return Math.min(jobs, slots);
}

/** As many boxes as it has slots, while they can be counted at a glance. */
const BOXES_MAX = 16;

export function Slots({ worker }: { worker: Worker }) {
  const { slots } = worker;
  const busy = busySlots(worker);
  const words = `${formatNumber(busy)} of ${plural(slots, 'slot')} busy`;
  return (
    <span className={styles.slots}>
      {slots <= BOXES_MAX && (
        <span className={styles.boxes} aria-hidden="true">
          {Array.from({ length: slots }, (_, slot) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: slots have no other name.
            <span key={slot} className={cx(styles.box, slot < busy && styles.full)} />
          ))}
        </span>
      )}
      {words}
    </span>
  );
}

/** Host, process, memory and types, in one line. */
export function WorkerFacts({ worker }: { worker: Worker }) {
  const types = worker.types.length === 0 ? 'all types' : worker.types.join(', ');
  const facts = [
    worker.hostname ?? 'host not told',
    worker.pid == null ? null : `pid ${worker.pid}`,
    worker.rss_kb == null ? null : `${formatBytes(worker.rss_kb * 1024)} RSS`,
    types,
  ].filter(Boolean);
  return (
    <p className={styles.facts} title={facts.join(' · ')}>
      {facts.join(' · ')}
    </p>
  );
}

export function Tags({ tags, label = 'Tags' }: { tags: string[]; label?: string }) {
  return (
    <ul className={styles.tags} aria-label={label}>
      {tags.map((tag) => (
        <li key={tag} className={styles.tag}>
          {tag}
        </li>
      ))}
    </ul>
  );
}
