import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function ScheduledPage() {
  return (
    <Page title="Scheduled">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
