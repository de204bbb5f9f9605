import { useQuery } from '@tanstack/react-query';
import { Layers, Plus, SearchX } from 'lucide-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { QueueSummary } from '../../api/overview';
import { queries } from '../../api/queries';
import { useCan } from '../../api/session';
import { Button, LinkButton } from '../../ui/Button';
import { formatNumber, plural } from '../../ui/format';
import { Card, Page } from '../../ui/Layout';
import { SearchBox } from '../../ui/SearchBox';
import { Empty, Loaded, Skeleton } from '../../ui/States';
import { Table } from '../../ui/Table';
import { QueueHead } from './QueueHead';
import { QueueRow } from './QueueRow';
import styles from './QueuesPage.module.css';
import { clicked, DEFAULT_ORDER, orderFrom, orderText, sorted } from './sorting';

/** Rows drawn at first, and with each further request. */
const ROWS_STEP = 200;

export default function QueuesPage() {
  const overview = useQuery(queries.overview());
  const queues = overview.data?.queues;
  return (
    <Page
      title="Queues"
      aside={queues && <span className={styles.count}>{plural(queues.length, 'queue')}</span>}
    >
      <Loaded
        query={{ data: queues, error: overview.error, refetch: overview.refetch }}
        failure="The queues could not be read"
        loading={<Skeleton lines={8} height={24} />}
      >
        {(all) => (all.length === 0 ? <NoQueues /> : <Queues queues={all} />)}
      </Loaded>
    </Page>
  );
}

function Queues({ queues }: { queues: QueueSummary[] }) {
  const [address, setAddress] = useSearchParams();
  const [rows, setRows] = useState(ROWS_STEP);
  const order = orderFrom(address.get('sort'));
  const text = address.get('q') ?? '';
  const change = (q: string, next = order) => {
    const wanted = new URLSearchParams();
    if (q !== '') wanted.set('q', q);
    if (orderText(next) !== orderText(DEFAULT_ORDER)) wanted.set('sort', orderText(next));
    setAddress(wanted, { replace: true });
  };
  const found = queues.filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()));
  const shown = sorted(found, order).slice(0, rows);
  const mostDue = Math.max(1, ...queues.map(({ due }) => due));
  return (
    <>
      <div className={styles.tools}>
        <SearchBox
          label="Text in the queue's name"
          placeholder="Name of a queue…"
          value={text}
          onChange={change}
        />
        <p className={styles.count} role="status">
          {found.length < queues.length &&
            `${formatNumber(found.length)} of ${plural(queues.length, 'queue')}`}
        </p>
      </div>
      {found.length === 0 ? (
        <Empty
          title="No queue has this in its name"
          icon={<SearchX />}
          action={<Button onClick={() => change('')}>Show all queues</Button>}
        />
      ) : (
        <Card flush>
          <Table
            label="Queues"
            head={<QueueHead order={order} onSort={(column) => change(text, clicked(order, column))} />}
          >
            {shown.map((queue) => (
              <QueueRow key={queue.name} queue={queue} mostDue={mostDue} />
            ))}
          </Table>
          {found.length > rows && (
            <p className={styles.more}>
              <Button onClick={() => setRows(rows + ROWS_STEP)}>
                Show {formatNumber(Math.min(ROWS_STEP, found.length - rows))} more
              </Button>
            </p>
          )}
        </Card>
      )}
    </>
  );
}

function NoQueues() {
  const mayEnqueue = useCan('enqueue');
  return (
    <Empty
      title="No queue holds jobs"
      icon={<Layers />}
      action={
        mayEnqueue && (
          <LinkButton href="/jobs/new" look="primary" icon={<Plus />}>
            New job
          </LinkButton>
        )
      }
    >
      A queue appears with its first job, and stays for an hour after its last one has ended.
    </Empty>
  );
}
