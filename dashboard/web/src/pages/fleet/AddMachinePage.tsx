import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, ask } from '../../api/client';
import { messageOf } from '../../api/errors';
import { queries } from '../../api/queries';
import { Button } from '../../ui/Button';
import { Field } from '../../ui/Field';
import { Card, Page } from '../../ui/Layout';
import styles from './AddMachinePage.module.css';
import { Joining } from './Joining';
import { idFrom, isLocalAddress } from './joinCommand';

export interface Prepared {
  nodeId: string;
  nodeName: string;
  hubUrl: string;
  secret: string;
  /** By the hub's clock: what arrives later is the new machine. */
  since: number;
}

export default function AddMachinePage() {
  const [prepared, setPrepared] = useState<Prepared | null>(null);
  // Asked for now, so that the line to paste does not change under the pointer later.
  useQuery(queries.downloads());
  return (
    <Page title="Add a machine" crumb={<Link href="/fleet">Fleet</Link>}>
      <div className={styles.column}>
        {prepared ? (
          <Joining prepared={prepared} onAnother={() => setPrepared(null)} />
        ) : (
          <NameForm onPrepared={setPrepared} />
        )}
      </div>
    </Page>
  );
}

function NameForm({ onPrepared }: { onPrepared: (prepared: Prepared) => void }) {
  const fleet = useQuery(queries.fleet());
  const [name, setName] = useState('');
  const [hubUrl, setHubUrl] = useState(location.origin);
  const [isTried, setIsTried] = useState(false);
  const nodeId = idFrom(name);
  const isTaken = fleet.data?.some(({ id }) => id === nodeId) ?? false;
  const make = useMutation({
    mutationFn: () => ask(api.POST('/api/tokens', { body: { name: nodeId, scope: 'worker' } })),
    onSuccess: ({ secret, created_at }) =>
      onPrepared({ nodeId, nodeName: name.trim(), hubUrl: hubUrl.trim(), secret, since: created_at }),
  });
  const nameError = nameProblem(name, nodeId, isTaken);
  const urlError = URL.canParse(hubUrl.trim()) ? undefined : 'Write it like https://hub.example.com';

  return (
    <Card title="1. Which machine">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          setIsTried(true);
          if (!nameError && !urlError && !make.isPending) make.mutate();
        }}
      >
        <Field
          label="Name"
          required
          autoComplete="off"
          placeholder="Rack 3"
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={isTried || isTaken ? nameError : undefined}
          hint={
            nodeId === '' ? (
              'What people call it. Its id is made of it.'
            ) : (
              <>
                Its id will be <code>{nodeId}</code>
              </>
            )
          }
        />
        <Field
          label="Address of this hub"
          required
          inputMode="url"
          value={hubUrl}
          onChange={(event) => setHubUrl(event.target.value)}
          error={isTried ? urlError : undefined}
          hint={
            isLocalAddress(hubUrl) ? (
              <span className={styles.warn}>
                This address works on this computer only. For another one, put the name or address by which it
                reaches the hub.
              </span>
            ) : (
              'As the machine reaches it. The machine needs no open port itself.'
            )
          }
        />
        <div>
          <Button type="submit" look="primary" icon={<KeyRound />} busy={make.isPending}>
            Make its token
          </Button>
        </div>
        {make.error && (
          <p role="alert" className={styles.error}>
            The token could not be made: {messageOf(make.error)}
          </p>
        )}
      </form>
    </Card>
  );
}

function nameProblem(name: string, nodeId: string, isTaken: boolean): string | undefined {
  if (name.trim() === '') return 'Give it a name';
  if (nodeId === '') return 'Use at least one letter from a to z, or a digit';
  if (nodeId === 'add') return 'This id is an address of the dashboard. Choose another name';
  if (isTaken) return `A machine with the id ${nodeId} is in the fleet already. Choose another name`;
  return undefined;
}
