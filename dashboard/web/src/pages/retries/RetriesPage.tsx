import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function RetriesPage() {
  return (
    <Page title="Retries">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
