import { Empty } from '../../ui/States';
import { columns } from '../jobs/columns';
import { JobListPage } from '../jobs/JobListPage';

const OWN = { view: 'retrying' } as const;
const COLUMNS = [columns.type, columns.queue, columns.nextTry, columns.attempts, columns.reason];
const OFFERS = [
  { action: 'run_now', label: 'Retry now' },
  { action: 'set_priority' },
  { action: 'cancel' },
  { action: 'kill' },
] as const;

export default function RetriesPage() {
  return (
    <JobListPage
      title="Retries"
      own={OWN}
      columns={COLUMNS}
      offers={OFFERS}
      empty={
        <Empty title="No job waits for another try">
          A job that failed and has attempts left stands here until its backoff is over.
        </Empty>
      }
    />
  );
}
