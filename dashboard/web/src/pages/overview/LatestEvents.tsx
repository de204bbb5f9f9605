import { Link } from 'wouter';
import type { EventKind, HubEvent } from '../../api/types';
import { useRecentEvents } from '../../live/LiveProvider';
import { cx } from '../../ui/classes';
import { formatDuration } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Empty } from '../../ui/States';
import { Time } from '../../ui/Values';
import styles from './LatestEvents.module.css';

const SHOWN_MAX = 14;

const WORDS: Record<EventKind, { word: string; tone: string | undefined }> = {
  'job:created': { word: 'created', tone: styles.idle },
  'job:assigned': { word: 'assigned', tone: styles.busy },
  'job:running': { word: 'running', tone: styles.info },
  'job:completed': { word: 'completed', tone: styles.ok },
  'job:failed': { word: 'failed', tone: styles.bad },
  'job:quarantined': { word: 'dead', tone: styles.dead },
  'job:released': { word: 'given back', tone: styles.idle },
  'job:cancelling': { word: 'cancelling', tone: styles.warn },
  'job:updated': { word: 'changed', tone: styles.idle },
  'job:deleted': { word: 'deleted', tone: styles.idle },
  'job:progress': { word: 'progress', tone: styles.info },
  'worker:registered': { word: 'joined', tone: styles.ok },
  'worker:draining': { word: 'draining', tone: styles.warn },
  'worker:resumed': { word: 'resumed', tone: styles.ok },
  'worker:lost': { word: 'lost', tone: styles.bad },
  'worker:forgotten': { word: 'forgotten', tone: styles.idle },
};

export function LatestEvents() {
  const events = useRecentEvents().slice(0, SHOWN_MAX);
  return (
    <Card title="Latest events" className={styles.card}>
      {events.length === 0 ? (
        <Empty title="Nothing has happened yet">Events appear here as they happen.</Empty>
      ) : (
        <ol>
          {events.map(({ id, event }) => (
            <li key={id} className={styles.line}>
              <EventLine event={event} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function EventLine({ event }: { event: HubEvent }) {
  const { word, tone } = WORDS[event.event] ?? { word: event.event, tone: styles.idle };
  const isWorker = event.event.startsWith('worker:');
  return (
    <>
      <span className={cx(styles.word, tone)}>{word}</span>
      <span className={styles.what}>
        {isWorker ? (
          <Link href={`/fleet/${encodeURIComponent(event.worker_id ?? '')}`}>{event.worker_id}</Link>
        ) : (
          <Link href={`/jobs/${event.job_id}`}>
            {event.type} <span className={styles.id}>{event.job_id?.slice(-6)}</span>
          </Link>
        )}
        {!isWorker && event.worker_id && <span className={styles.where}> on {event.worker_id}</span>}
        {event.run_ms != null && <span className={styles.where}> in {formatDuration(event.run_ms)}</span>}
      </span>
      <span className={styles.when}>
        <Time ts={event.ts} as="clock" />
      </span>
    </>
  );
}
