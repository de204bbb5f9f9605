import { useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api, ask } from '../../api/client';
import { keys, queries } from '../../api/queries';
import { useCan, useSession } from '../../api/session';
import type { Scope, Token } from '../../api/types';
import { Badge, type Tone } from '../../ui/Badge';
import { Button, IconButton } from '../../ui/Button';
import { cx } from '../../ui/classes';
import { Confirm } from '../../ui/Dialog';
import { Card } from '../../ui/Layout';
import { Empty, Loaded } from '../../ui/States';
import { Table, Td, Th } from '../../ui/Table';
import { useToast } from '../../ui/Toasts';
import { Time, Unknown } from '../../ui/Values';
import { NewTokenDialog } from './NewTokenDialog';
import styles from './Settings.module.css';

const SCOPE_TONES: Record<Scope, Tone> = { admin: 'bad', producer: 'info', worker: 'busy', viewer: 'idle' };

export function ScopeBadge({ scope }: { scope: Scope }) {
  return <Badge tone={SCOPE_TONES[scope] ?? 'idle'}>{scope}</Badge>;
}

export function Tokens() {
  const tokens = useQuery(queries.tokens());
  const mayCreate = useCan('create_token');
  const mayRevoke = useCan('revoke_token');
  const client = useQueryClient();
  const toast = useToast();
  const [isMaking, setIsMaking] = useState(false);
  const [asked, setAsked] = useState<Token | null>(null);
  const own = useSession().data?.token_id;

  async function revoke({ id, name }: Token) {
    await ask(api.DELETE('/api/tokens/{id}', { params: { path: { id } } }));
    await client.invalidateQueries({ queryKey: keys.tokens });
    toast.ok(`The token “${name}” is revoked.`);
  }

  return (
    <>
      <p className={styles.hint}>
        Keys to this hub, each for one purpose. Only a fingerprint of them is kept, so a token is shown once,
        when it is made. The administrator's secret is not among them.
      </p>
      <Card
        title="Tokens"
        flush
        aside={
          mayCreate && (
            <Button icon={<Plus />} onClick={() => setIsMaking(true)}>
              New token
            </Button>
          )
        }
      >
        <Loaded query={tokens} failure="The tokens could not be read">
          {(all) =>
            all.length === 0 ? (
              <Empty title="There is no token" icon={<KeyRound />}>
                Make one for each producer, machine and person, so that each can be revoked by itself.
              </Empty>
            ) : (
              <Table
                label="Tokens"
                head={
                  <>
                    <Th>Name</Th>
                    <Th>Scope</Th>
                    <Th wide>Worker</Th>
                    <Th number wide>
                      Made
                    </Th>
                    <Th number>Last used</Th>
                    {mayRevoke && (
                      <Th>
                        <span className="visually-hidden">Actions</span>
                      </Th>
                    )}
                  </>
                }
              >
                {all.map((token) => (
                  <tr key={token.id}>
                    <Td>
                      <span className={styles.name}>{token.name}</span>{' '}
                      <span className={cx(styles.muted, styles.long)}>
                        {token.id}
                        {token.id === own && ', yours'}
                      </span>
                    </Td>
                    <Td>
                      <ScopeBadge scope={token.scope} />
                    </Td>
                    <Td wide>{token.worker_id ?? <Unknown why="Not bound to a worker" />}</Td>
                    <Td number wide>
                      <Time ts={token.created_at} />
                    </Td>
                    <Td number>
                      <Time ts={token.last_used_at} why="Never used" />
                    </Td>
                    {mayRevoke && (
                      <Td className={styles.action}>
                        <IconButton
                          label={`Revoke ${token.name}`}
                          icon={<Trash2 />}
                          onClick={() => setAsked(token)}
                        />
                      </Td>
                    )}
                  </tr>
                ))}
              </Table>
            )
          }
        </Loaded>
      </Card>
      {isMaking && <NewTokenDialog onClose={() => setIsMaking(false)} />}
      {asked && (
        <Confirm
          title={`Revoke “${asked.name}”?`}
          verb="Revoke"
          danger
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(null)}
        >
          Whoever uses it is locked out at once, and its sessions and streams end. This cannot be undone; a
          new token can be made.
          {asked.id === own && ' It is the one you are logged in with: you will be logged out.'}
        </Confirm>
      )}
    </>
  );
}
