import { Empty } from '../../ui/States';
import { columns } from '../jobs/columns';
import { JobListPage } from '../jobs/JobListPage';

const OWN = { view: 'dead' } as const;
const COLUMNS = [
  columns.type,
  columns.queue,
  columns.machine,
  columns.died,
  columns.attempts,
  columns.reason,
];
const OFFERS = [{ action: 'retry' }, { action: 'delete' }] as const;

export default function DeadPage() {
  return (
    <JobListPage
      title="Dead"
      own={OWN}
      columns={COLUMNS}
      offers={OFFERS}
      empty={
        <Empty title="No job is dead">
          A job whose attempts are used up, or that failed for good, stands here until somebody retries or
          deletes it.
        </Empty>
      }
    />
  );
}
