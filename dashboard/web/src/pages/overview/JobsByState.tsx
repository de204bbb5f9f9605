import { Link } from 'wouter';
import type { Overview } from '../../api/types';
import { JOB_STATUSES } from '../../api/types';
import { type AnyView, JobBadge, ViewBadge } from '../../ui/Badge';
import { Card } from '../../ui/Layout';
import { Count } from '../../ui/Values';
import styles from './JobsByState.module.css';

const VIEWS: { view: AnyView; href: string }[] = [
  { view: 'due', href: '/jobs?status=pending' },
  { view: 'scheduled', href: '/scheduled' },
  { view: 'retrying', href: '/retries' },
  { view: 'blocked', href: '/jobs?view=blocked' },
  { view: 'dead', href: '/dead' },
  { view: 'cancelled', href: '/jobs?view=cancelled' },
];

/** Every status and every view with its count, each leading to its jobs. */
export function JobsByState({ overview }: { overview: Overview }) {
  return (
    <Card title="Jobs">
      <div className={styles.columns}>
        <ul aria-label="By status">
          {JOB_STATUSES.map((status) => (
            <li key={status}>
              <Link href={`/jobs?status=${status}`} className={styles.line}>
                <JobBadge state={status} />
                <b>
                  <Count value={overview.jobs[status]} exact />
                </b>
              </Link>
            </li>
          ))}
        </ul>
        <ul aria-label="By view">
          {VIEWS.map(({ view, href }) => (
            <li key={view}>
              <Link href={href} className={styles.line}>
                <ViewBadge state={view} />
                <b>
                  <Count value={overview.views[view]} exact />
                </b>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}
