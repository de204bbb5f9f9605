import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function MachinePage() {
  return (
    <Page title="Machine">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
