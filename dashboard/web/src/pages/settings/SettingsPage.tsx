import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type { Operation } from '../../api/scopes';
import { mayCall, useSession } from '../../api/session';
import { Page } from '../../ui/Layout';
import { Tabs } from '../../ui/Tabs';
import { Audit } from './Audit';
import { HubFacts } from './HubFacts';
import { Sessions } from './Sessions';
import { Solvers } from './Solvers';
import { ThemeChoice } from './ThemeChoice';
import { Tokens } from './Tokens';

const TABS = [
  { value: 'solvers', label: 'Solvers', needs: 'list_solvers', content: <Solvers /> },
  { value: 'tokens', label: 'Tokens', needs: 'list_tokens', content: <Tokens /> },
  { value: 'sessions', label: 'Sessions', needs: 'list_sessions', content: <Sessions /> },
  { value: 'audit', label: 'Audit', needs: 'list_audit', content: <Audit /> },
  { value: 'hub', label: 'Hub', needs: 'settings', content: <HubFacts /> },
  { value: 'theme', label: 'Theme', needs: 'show_session', content: <ThemeChoice /> },
] as const satisfies readonly { value: string; label: string; needs: Operation; content: ReactNode }[];

export default function SettingsPage() {
  const scope = useSession().data?.scope;
  const [address, setAddress] = useSearchParams();
  const tabs = TABS.filter(({ needs }) => mayCall(scope, needs));
  const chosen = tabs.find(({ value }) => value === address.get('tab')) ?? tabs[0];
  return (
    <Page title="Settings">
      {chosen && (
        <div>
          <Tabs
            label="Settings"
            tabs={tabs}
            chosen={chosen.value}
            onChoose={(tab) => setAddress({ tab }, { replace: true })}
          >
            {chosen.content}
          </Tabs>
        </div>
      )}
    </Page>
  );
}
