import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function FleetPage() {
  return (
    <Page title="Fleet">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
