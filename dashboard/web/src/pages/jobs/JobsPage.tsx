import { Plus } from 'lucide-react';
import { useCan } from '../../api/session';
import { LinkButton } from '../../ui/Button';
import { Empty } from '../../ui/States';
import { columns } from './columns';
import { JobListPage } from './JobListPage';

const OWN = {};
const COLUMNS = [
  columns.status,
  columns.type,
  columns.queue,
  columns.machine,
  columns.waited,
  columns.ran,
  columns.age,
  columns.detail,
];
const OFFERS = [
  { action: 'retry' },
  { action: 'run_now' },
  { action: 'set_priority' },
  { action: 'cancel' },
  { action: 'kill' },
  { action: 'delete' },
] as const;

export default function JobsPage() {
  const mayEnqueue = useCan('enqueue');
  const submit = mayEnqueue && (
    <LinkButton href="/jobs/new" look="primary" icon={<Plus />}>
      New job
    </LinkButton>
  );
  return (
    <JobListPage
      title="Jobs"
      own={OWN}
      columns={COLUMNS}
      offers={OFFERS}
      actions={submit}
      empty={
        <Empty title="There is no job yet" action={submit}>
          Submit one here, or with <code>POST /api/jobs</code>. It appears as soon as the hub has it.
        </Empty>
      }
    />
  );
}
