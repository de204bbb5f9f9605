import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function QueuesPage() {
  return (
    <Page title="Queues">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
