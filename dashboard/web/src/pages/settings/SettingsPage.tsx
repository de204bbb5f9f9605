import { Page } from '../../ui/Layout';
import { Empty } from '../../ui/States';

export default function SettingsPage() {
  return (
    <Page title="Settings">
      <Empty title="Nothing is shown here yet" />
    </Page>
  );
}
