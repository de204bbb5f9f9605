import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function AddMachinePage() {
  return (
    <Page title="Add a machine">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
