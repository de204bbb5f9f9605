import { Empty } from '../../ui/States';
import { columns } from '../jobs/columns';
import { JobListPage } from '../jobs/JobListPage';

const OWN = { view: 'scheduled' } as const;
const COLUMNS = [columns.type, columns.queue, columns.due, columns.priority, columns.age, columns.params].map(
  // The time it is due takes the place on a phone.
  (column) => (column === columns.age ? { ...column, phone: undefined } : column),
);
const OFFERS = [
  { action: 'run_now' },
  { action: 'set_priority' },
  { action: 'cancel', label: 'Delete' },
] as const;

export default function ScheduledPage() {
  return (
    <JobListPage
      title="Scheduled"
      own={OWN}
      columns={COLUMNS}
      offers={OFFERS}
      empty={
        <Empty title="No job waits for its time">
          A job submitted with <code>run_at</code> or <code>delay_ms</code> stands here until it is due.
        </Empty>
      }
    />
  );
}
