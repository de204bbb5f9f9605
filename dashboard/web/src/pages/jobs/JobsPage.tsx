import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function JobsPage() {
  return (
    <Page title="Jobs">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
