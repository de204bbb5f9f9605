import { useQuery } from '@tanstack/react-query';
import { type CSSProperties, useRef, useState } from 'react';
import { Link } from 'wouter';
import { queries, RAN_JOBS_MAX } from '../../../api/queries';
import type { HistoryRange, Job } from '../../../api/types';
import { JOB_LOOKS } from '../../../ui/Badge';
import { cx } from '../../../ui/classes';
import { formatDuration, formatNumber, formatTime } from '../../../ui/format';
import { AXIS_PX, END_PX } from './Chart';
import chartStyles from './Chart.module.css';
import styles from './JobLanes.module.css';
import { type Placed, placeInLanes } from './lanes';

interface JobLanesProps {
  workerId: string;
  range: HistoryRange;
  /** The time that the charts above show. */
  from: number;
  to: number;
}

const LANES_MAX = 24;
const LANE_PX = 14;

/** The jobs that ran, under the charts and on their time axis. */
export function JobLanes({ workerId, range, from, to }: JobLanesProps) {
  const jobs = useQuery(queries.ranJobs(workerId, range));
  const list = useRef<HTMLUListElement>(null);
  const [current, setCurrent] = useState(0);
  const placed = placeInLanes(jobs.data ?? [], to).filter((entry) => entry.to >= from && entry.from <= to);
  const lanes = Math.min(LANES_MAX, Math.max(1, ...placed.map(({ lane }) => lane + 1)));
  const shown = placed.filter(({ lane }) => lane < LANES_MAX);
  const stop = Math.min(current, shown.length - 1);

  function move(step: number) {
    const next = Math.min(shown.length - 1, Math.max(0, stop + step));
    setCurrent(next);
    list.current?.querySelectorAll('a')[next]?.focus();
  }

  return (
    <figure className={chartStyles.chart}>
      <figcaption className={chartStyles.caption}>
        <h3 className={chartStyles.title}>Jobs</h3>
        <span>{jobs.data ? told(jobs.data, shown.length) : 'reading…'}</span>
      </figcaption>
      <ul
        ref={list}
        aria-label="Jobs that ran, oldest first"
        className={styles.lanes}
        style={{ height: lanes * LANE_PX, marginLeft: AXIS_PX, marginRight: END_PX }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight') move(1);
          else if (event.key === 'ArrowLeft') move(-1);
          else return;
          event.preventDefault();
        }}
      >
        {shown.map((entry, at) => (
          <li key={entry.job.id} className={styles.job} style={placeOf(entry, from, to)}>
            <Link
              href={`/jobs/${encodeURIComponent(entry.job.id)}`}
              // One stop for the tab key; the arrow keys go through the jobs.
              tabIndex={at === stop ? 0 : -1}
              title={describe(entry)}
              aria-label={describe(entry)}
              className={cx(styles.bar, styles[JOB_LOOKS[entry.job.status]?.tone ?? 'idle'])}
            />
          </li>
        ))}
      </ul>
    </figure>
  );
}

function told(all: Job[], shown: number): string {
  if (shown === 0) return 'none ran in this time';
  const words = `${formatNumber(shown)} ran, each leads to its page`;
  return all.length >= RAN_JOBS_MAX ? `the newest ${words}` : words;
}

function placeOf({ from, to, lane }: Placed, start: number, end: number): CSSProperties {
  const share = (ts: number) => (Math.min(1, Math.max(0, (ts - start) / (end - start))) * 100).toFixed(3);
  return {
    left: `${share(from)}%`,
    width: `${Number(share(to)) - Number(share(from))}%`,
    top: lane * LANE_PX,
  };
}

function describe({ job, from, to }: Placed): string {
  const word = JOB_LOOKS[job.status]?.word ?? job.status;
  return `${job.type} ${job.id}: ${word.toLowerCase()}, from ${formatTime(from)}, ${formatDuration(to - from)}`;
}
