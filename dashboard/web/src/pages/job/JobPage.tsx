import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function JobPage() {
  return (
    <Page title="Job">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
