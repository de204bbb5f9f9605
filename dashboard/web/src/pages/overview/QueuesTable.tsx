import { Link } from 'wouter';
import type { QueueSummary } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Empty } from '../../ui/States';
import { Table, Td, Th } from '../../ui/Table';
import { Count, Duration } from '../../ui/Values';
import { OLD_WAIT_MS } from './attention';
import styles from './QueuesTable.module.css';

/** The busiest are shown here; the page of queues has all. */
const SHOWN_MAX = 10;

export function QueuesTable({ queues }: { queues: QueueSummary[] }) {
  const weight = (queue: QueueSummary) => queue.due + queue.running;
  const busiest = [...queues].sort((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
  const hidden = Math.max(0, queues.length - SHOWN_MAX);
  return (
    <Card
      title="Queues"
      flush
      aside={<Link href="/queues">{hidden > 0 ? `All ${formatNumber(queues.length)}` : 'All queues'}</Link>}
    >
      {queues.length === 0 ? (
        <Empty title="No queue holds jobs">
          A queue appears with its first job: submit one with <code>POST /api/jobs</code> or the page New job.
        </Empty>
      ) : (
        <Table
          label="Queues"
          head={
            <>
              <Th>Queue</Th>
              <Th number>Due</Th>
              <Th number>Running</Th>
              <Th number wide>
                Scheduled
              </Th>
              <Th number>Oldest wait</Th>
              <Th number wide>
                Completed, 1 h
              </Th>
              <Th number wide>
                Failed, 1 h
              </Th>
            </>
          }
        >
          {busiest.slice(0, SHOWN_MAX).map((queue) => (
            <tr key={queue.name}>
              <Td>
                <Link href={`/jobs?queue=${encodeURIComponent(queue.name)}`} className={styles.name}>
                  {queue.name}
                </Link>
              </Td>
              <Td number>
                <Count value={queue.due} exact />
              </Td>
              <Td number>
                <Count value={queue.running} exact />
              </Td>
              <Td number wide>
                <Count value={queue.scheduled} exact />
              </Td>
              <Td number className={(queue.oldest_wait_ms ?? 0) > OLD_WAIT_MS ? styles.old : undefined}>
                <Duration ms={queue.oldest_wait_ms} why="No job is due" />
              </Td>
              <Td number wide>
                <Count value={queue.completed_last_hour} exact />
              </Td>
              <Td number wide className={queue.failed_last_hour > 0 ? styles.failed : undefined}>
                <Count value={queue.failed_last_hour} exact />
              </Td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}
