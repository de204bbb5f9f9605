import { useQuery } from '@tanstack/react-query';
import { CircleCheck, LoaderCircle, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { queries } from '../../api/queries';
import { Button, LinkButton } from '../../ui/Button';
import { Code } from '../../ui/Code';
import { Card, Row } from '../../ui/Layout';
import { Segments } from '../../ui/Segments';
import type { Prepared } from './AddMachinePage';
import styles from './AddMachinePage.module.css';
import { joinCommand, type Shell } from './joinCommand';

interface JoiningProps {
  prepared: Prepared;
  onAnother: () => void;
}

/** The line to paste, and the wait for the machine to arrive. */
export function Joining({ prepared, onAnother }: JoiningProps) {
  const downloads = useQuery(queries.downloads());
  const [chosen, setChosen] = useState<Shell | null>(null);
  const hasInstaller = downloads.data?.some(({ name }) => name.startsWith('forge-agent-linux-')) ?? false;
  const shell = chosen ?? (hasInstaller ? 'installer' : 'posix');
  return (
    <>
      <Card
        title="2. Paste this on the machine"
        aside={
          <Segments
            label="Kind of shell"
            options={[
              ...(hasInstaller ? [{ value: 'installer' as const, label: 'Install on Linux' }] : []),
              { value: 'posix', label: hasInstaller ? 'With an agent' : 'Linux, macOS' },
              { value: 'powershell', label: 'Windows' },
            ]}
            chosen={shell}
            onChoose={setChosen}
          />
        }
      >
        <div className={styles.form}>
          <Code text={joinCommand(shell, prepared)} label="Command" />
          <p className={styles.note}>
            {shell === 'installer'
              ? 'It fetches the agent from this hub and runs it as a service. Leave out sudo where you are root.'
              : 'It starts the program forge-agent, which must be on the machine already.'}
          </p>
          <p className={styles.once}>
            <TriangleAlert aria-hidden="true" />
            <span>
              The token in it is shown only now: the hub keeps no copy. It works for one machine; revoke it
              under <Link href="/settings?tab=tokens">Settings, Tokens</Link> if it went astray.
            </span>
          </p>
        </div>
      </Card>
      <Arrival prepared={prepared} onAnother={onAnother} isInstalled={shell === 'installer'} />
    </>
  );
}

function Arrival({ prepared, onAnother, isInstalled }: JoiningProps & { isInstalled: boolean }) {
  const { nodeId, nodeName, since } = prepared;
  const fleet = useQuery(queries.fleet());
  const workers = useQuery(queries.workers());
  const machine = fleet.data?.find(({ id, lastSeen }) => id === nodeId && lastSeen >= since);
  const worker = workers.data?.find(({ id, state }) => id === nodeId && state !== 'lost');
  const hasArrived = machine !== undefined || worker !== undefined;
  return (
    <Card title="3. It arrives by itself" className={hasArrived ? styles.arrived : undefined}>
      <div className={styles.form}>
        <p role="status" className={styles.state}>
          {hasArrived ? (
            <>
              <CircleCheck aria-hidden="true" className={styles.ok} />
              <b>{nodeName} has arrived</b>
              <span className={styles.note}>
                {worker ? 'It takes jobs.' : 'It sends metrics; its worker has not registered yet.'}
              </span>
            </>
          ) : (
            <>
              <LoaderCircle aria-hidden="true" className={styles.waiting} />
              <b>Waiting for {nodeName}</b>
            </>
          )}
        </p>
        {hasArrived ? (
          <Row>
            <LinkButton href={`/fleet/${encodeURIComponent(nodeId)}`} look="primary">
              Look at {nodeName}
            </LinkButton>
            <Button onClick={onAnother}>Add another</Button>
          </Row>
        ) : (
          <>
            <p className={styles.note}>It mostly takes a few seconds after the line was entered.</p>
            <p className={styles.note} hidden={isInstalled}>
              Nothing happens? Put <code>doctor</code> behind <code>forge-agent</code> in the same line: it
              checks everything between the machine and the hub, and says what to fix.
            </p>
          </>
        )}
      </div>
    </Card>
  );
}
