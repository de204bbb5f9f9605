import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function DeadPage() {
  return (
    <Page title="Dead">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
