import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { QueueSummary } from '../../api/overview';
import { Meter } from '../../ui/Meter';
import { Td } from '../../ui/Table';
import { Count, Duration } from '../../ui/Values';
import { OLD_WAIT_MS } from '../overview/attention';
import styles from './QueuesPage.module.css';

interface QueueRowProps {
  queue: QueueSummary;
  /** The deepest queue fills the bar. */
  mostDue: number;
}

export function QueueRow({ queue, mostDue }: QueueRowProps) {
  const { name, due, running, scheduled, oldest_wait_ms, completed_last_hour, failed_last_hour } = queue;
  const to = (filter: string) => `/jobs?queue=${encodeURIComponent(name)}${filter}`;
  const slash = name.lastIndexOf('/') + 1;
  return (
    <tr>
      <Td>
        <Link href={to('')} className={styles.name}>
          <span className={styles.parent}>{name.slice(0, slash)}</span>
          <wbr />
          {name.slice(slash)}
        </Link>
      </Td>
      <Td number>
        <div className={styles.depthCell}>
          <div className={styles.bar}>
            <Meter
              label={`Due in ${name}`}
              percent={(due / mostDue) * 100}
              text={String(due)}
              warnFrom={101}
              badFrom={101}
              bare
            />
          </div>
          <Linked href={to('&status=pending')} when={due > 0}>
            <Count value={due} exact />
          </Linked>
        </div>
      </Td>
      <Td number>
        <Linked href={to('&status=running')} when={running > 0}>
          <Count value={running} exact />
        </Linked>
      </Td>
      <Td number wide>
        <Linked href={to('&view=scheduled')} when={scheduled > 0}>
          <Count value={scheduled} exact />
        </Linked>
      </Td>
      <Td number className={(oldest_wait_ms ?? 0) > OLD_WAIT_MS ? styles.old : undefined}>
        <Duration ms={oldest_wait_ms} why="No job is due" />
      </Td>
      <Td number wide>
        <Linked href={to('&status=completed')} when={completed_last_hour > 0}>
          <Count value={completed_last_hour} exact />
        </Linked>
        {completed_last_hour > 0 && <div className={styles.rate}>{perMinute(completed_last_hour)}</div>}
      </Td>
      <Td number wide className={failed_last_hour > 0 ? styles.failed : undefined}>
        <Count value={failed_last_hour} exact />
        {failed_last_hour > 0 && (
          <div className={styles.rate}>{failureShare(completed_last_hour, failed_last_hour)}</div>
        )}
      </Td>
    </tr>
  );
}

/** A link where it leads to something. */
function Linked({ href, when, children }: { href: string; when: boolean; children: ReactNode }) {
  return when ? <Link href={href}>{children}</Link> : children;
}

function perMinute(perHour: number): string {
  const rate = perHour / 60;
  return `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} / min`;
}

function failureShare(completed: number, failed: number): string {
  return `${Math.max(1, Math.round((failed / (completed + failed)) * 100))} % of all`;
}
