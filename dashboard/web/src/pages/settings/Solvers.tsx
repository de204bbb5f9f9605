import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Package, Trash2, Upload } from 'lucide-react';
import { useRef, useState } from 'react';
import { api, ask } from '../../api/client';
import { keys, queries } from '../../api/queries';
import { useCan } from '../../api/session';
import type { Solver } from '../../api/types';
import { uploadSolver } from '../../api/upload';
import { Button, IconButton } from '../../ui/Button';
import { CopyButton } from '../../ui/Copy';
import { Confirm } from '../../ui/Dialog';
import { Card } from '../../ui/Layout';
import { Meter } from '../../ui/Meter';
import { Empty, Loaded } from '../../ui/States';
import { Table, Td, Th } from '../../ui/Table';
import { useToast } from '../../ui/Toasts';
import { Bytes, Time } from '../../ui/Values';
import { LongId } from './LongId';
import styles from './Settings.module.css';

export function Solvers() {
  const solvers = useQuery(queries.solvers());
  const mayUpload = useCan('put_solver');
  const mayDelete = useCan('delete_solver');
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState<string | null>(null);

  async function remove(sha256: string) {
    await ask(api.DELETE('/api/solvers/{sha256}', { params: { path: { sha256 } } }));
    await client.invalidateQueries({ queryKey: keys.solvers });
    toast.ok('The solver is deleted.');
  }

  return (
    <>
      <p className={styles.hint}>
        Programs that jobs run. A job names one by its checksum; each machine fetches it once and checks it
        before it runs.
      </p>
      <Card title="Solvers" flush aside={mayUpload && <UploadButton />}>
        <Loaded query={solvers} failure="The solvers could not be read">
          {(all) =>
            all.length === 0 ? (
              <Empty title="No solver is stored" icon={<Package />}>
                {mayUpload
                  ? 'Upload a script or a binary here, or with PUT /api/solvers/<its sha256>.'
                  : 'Whoever may enqueue jobs can upload one.'}
              </Empty>
            ) : (
              <Table
                label="Solvers"
                head={
                  <>
                    <Th>Checksum, sha256</Th>
                    <Th number>Size</Th>
                    <Th number>Stored</Th>
                    {mayDelete && (
                      <Th>
                        <span className="visually-hidden">Actions</span>
                      </Th>
                    )}
                  </>
                }
              >
                {newestFirst(all).map(({ sha256, bytes, created_at }) => (
                  <tr key={sha256}>
                    <Td>
                      <span className={styles.checksum}>
                        <LongId id={sha256} />
                        <CopyButton text={sha256} label="Copy the checksum" />
                      </span>
                    </Td>
                    <Td number>
                      <Bytes value={bytes} />
                    </Td>
                    <Td number>
                      <Time ts={created_at} />
                    </Td>
                    {mayDelete && (
                      <Td className={styles.action}>
                        <IconButton
                          label={`Delete ${sha256.slice(0, 12)}`}
                          icon={<Trash2 />}
                          onClick={() => setAsked(sha256)}
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
      {asked && (
        <Confirm
          title="Delete this solver?"
          verb="Delete"
          danger
          onConfirm={() => remove(asked)}
          onClose={() => setAsked(null)}
        >
          <span className={styles.id}>{asked}</span>
          <p>Jobs that name it fail on machines that have not fetched it yet. It can be uploaded again.</p>
        </Confirm>
      )}
    </>
  );
}

function newestFirst(solvers: Solver[]): Solver[] {
  return solvers.toSorted((a, b) => b.created_at - a.created_at);
}

/** Chooses a file, hashes it in the browser and sends it. */
function UploadButton() {
  const input = useRef<HTMLInputElement>(null);
  const client = useQueryClient();
  const toast = useToast();
  /** 0 to 1; `null` when nothing is under way. */
  const [share, setShare] = useState<number | null>(null);

  async function send(file: File) {
    setShare(0);
    try {
      const { sha256 } = await uploadSolver(file, { onProgress: setShare });
      await client.invalidateQueries({ queryKey: keys.solvers });
      toast.ok(`${file.name} is stored as ${sha256.slice(0, 12)}…`);
    } catch (error) {
      toast.failed(`${file.name} could not be stored`, error);
    }
    setShare(null);
  }

  return (
    <div className={styles.upload}>
      {share !== null && (
        <div className={styles.progress}>
          <Meter
            label={share === 0 ? 'Hashing' : 'Sending'}
            percent={share * 100}
            warnFrom={101}
            badFrom={101}
          />
        </div>
      )}
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Solver to upload"
        onChange={(event) => {
          const file = event.target.files?.[0];
          // The same file can be chosen again.
          event.target.value = '';
          if (file) void send(file);
        }}
      />
      <Button icon={<Upload />} busy={share !== null} onClick={() => input.current?.click()}>
        Upload a solver
      </Button>
    </div>
  );
}
