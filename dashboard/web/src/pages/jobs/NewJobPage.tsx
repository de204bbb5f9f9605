import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function NewJobPage() {
  return (
    <Page title="New job">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
