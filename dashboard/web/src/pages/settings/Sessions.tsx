import { useQuery, useQueryClient } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { useState } from 'react';
import { api, ask } from '../../api/client';
import { keys, queries } from '../../api/queries';
import { useCan } from '../../api/session';
import type { LoggedIn } from '../../api/types';
import { Badge } from '../../ui/Badge';
import { IconButton } from '../../ui/Button';
import { Confirm } from '../../ui/Dialog';
import { Card } from '../../ui/Layout';
import { Loaded } from '../../ui/States';
import { Table, Td, Th } from '../../ui/Table';
import { useToast } from '../../ui/Toasts';
import { Time } from '../../ui/Values';
import styles from './Settings.module.css';
import { ScopeBadge } from './Tokens';

export function Sessions() {
  const sessions = useQuery(queries.sessions());
  const mayEnd = useCan('end_session');
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState<LoggedIn | null>(null);

  async function end({ id, name }: LoggedIn) {
    await ask(api.DELETE('/api/sessions/{id}', { params: { path: { id } } }));
    await client.invalidateQueries({ queryKey: keys.sessions });
    toast.ok(`The session of “${name}” is over.`);
  }

  return (
    <>
      <p className={styles.hint}>
        Browsers that are logged in. Ending one closes its streams at once; its token can log in again unless
        it is revoked.
      </p>
      <Card title="Sessions" flush>
        <Loaded query={sessions} failure="The sessions could not be read">
          {(all) => (
            <Table
              label="Sessions"
              head={
                <>
                  <Th>Logged in with</Th>
                  <Th>Scope</Th>
                  <Th number>Since</Th>
                  <Th number wide>
                    Ends
                  </Th>
                  {mayEnd && (
                    <Th>
                      <span className="visually-hidden">Actions</span>
                    </Th>
                  )}
                </>
              }
            >
              {all.map((session) => (
                <tr key={session.id}>
                  <Td>
                    <span className={styles.name}>{session.name}</span>{' '}
                    {session.current && <Badge tone="ok">this browser</Badge>}
                  </Td>
                  <Td>
                    <ScopeBadge scope={session.scope} />
                  </Td>
                  <Td number>
                    <Time ts={session.created_at} />
                  </Td>
                  <Td number wide>
                    <Time ts={session.expires_at} />
                  </Td>
                  {mayEnd && (
                    <Td className={styles.action}>
                      <IconButton
                        label={`End the session of ${session.name}`}
                        icon={<LogOut />}
                        onClick={() => setAsked(session)}
                      />
                    </Td>
                  )}
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
      </Card>
      {asked && (
        <Confirm
          title={`Log “${asked.name}” out?`}
          verb="End the session"
          danger
          onConfirm={() => end(asked)}
          onClose={() => setAsked(null)}
        >
          {asked.current
            ? 'It is the session of this browser: you will be logged out.'
            : 'The browser that uses it is shown the login page.'}
        </Confirm>
      )}
    </>
  );
}
