/** Where the program of a new job comes from. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Upload } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import { keys, queries } from '../../api/queries';
import { useCan } from '../../api/session';
import { uploadSolver } from '../../api/upload';
import { Button } from '../../ui/Button';
import { Field } from '../../ui/Field';
import { formatBytes, formatRelative } from '../../ui/format';
import { Row } from '../../ui/Layout';
import { useToast } from '../../ui/Toasts';
import type { Draft, Mistakes } from './draft';
import { Choice, TextArea } from './fields';
import styles from './fields.module.css';

const PROGRAMS = [
  { value: 'handler', label: 'The machine’s own handler' },
  { value: 'solver', label: 'A solver on the hub' },
  { value: 'url', label: 'A solver from an address' },
  { value: 'command', label: 'A shell command' },
] as const;

interface ProgramFieldsProps {
  draft: Draft;
  mistakes: Mistakes;
  onChange: (change: Partial<Draft>) => void;
}

export function ProgramFields({ draft, mistakes, onChange }: ProgramFieldsProps) {
  return (
    <>
      <Choice
        label="Program"
        options={PROGRAMS}
        chosen={draft.program}
        onChoose={(program) => onChange({ program })}
      />
      {draft.program === 'handler' && (
        <p className={styles.hint}>
          Each machine runs what its <code>WORKER_HANDLERS</code> names for the type.
        </p>
      )}
      {draft.program === 'command' && (
        <TextArea
          label="Command"
          rows={3}
          value={draft.command}
          error={mistakes.command}
          hint="Run by bash, only on machines with WORKER_ALLOW_COMMANDS=true. Standard output is the result."
          onChange={(command) => onChange({ command })}
        />
      )}
      {draft.program === 'solver' && (
        <StoredSolver
          checksum={draft.checksum}
          error={mistakes.solver_checksum}
          onChoose={(checksum) => onChange({ checksum })}
        />
      )}
      {draft.program === 'url' && (
        <>
          <Field
            label="Address of the solver"
            type="url"
            value={draft.url}
            placeholder="https://…"
            error={mistakes.solver_url}
            onChange={(event) => onChange({ url: event.target.value })}
          />
          <Field
            label="Its sha256"
            value={draft.checksum}
            spellCheck={false}
            hint="64 hex digits. The solver runs only if its content matches."
            error={mistakes.solver_checksum}
            onChange={(event) => onChange({ checksum: event.target.value })}
          />
        </>
      )}
    </>
  );
}

interface StoredSolverProps {
  checksum: string;
  error: string | undefined;
  onChoose: (checksum: string) => void;
}

function StoredSolver({ checksum, error, onChoose }: StoredSolverProps) {
  const id = useId();
  const file = useRef<HTMLInputElement>(null);
  const client = useQueryClient();
  const toast = useToast();
  const mayUpload = useCan('put_solver');
  const solvers = useQuery(queries.solvers());
  const [uploading, setUploading] = useState<string | null>(null);
  const newest = [...(solvers.data ?? [])].sort((a, b) => b.created_at - a.created_at);
  const isListed = newest.some((solver) => solver.sha256 === checksum);

  async function upload(chosen: File) {
    setUploading(`${chosen.name}, ${formatBytes(chosen.size)}`);
    try {
      const { sha256 } = await uploadSolver(chosen);
      await client.invalidateQueries({ queryKey: keys.solvers });
      onChoose(sha256);
      toast.ok(`Uploaded ${chosen.name}.`);
    } catch (thrown) {
      toast.failed(`${chosen.name} could not be uploaded`, thrown);
    } finally {
      setUploading(null);
    }
  }

  return (
    <div className={styles.field}>
      <label htmlFor={id}>Solver</label>
      <select
        id={id}
        className={styles.input}
        value={checksum}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChoose(event.target.value)}
      >
        <option value="">{newest.length === 0 ? 'None was uploaded yet' : 'Choose…'}</option>
        {checksum !== '' && !isListed && (
          <option value={checksum}>{checksum.slice(0, 16)}… (not on this hub)</option>
        )}
        {newest.map((solver) => (
          <option key={solver.sha256} value={solver.sha256}>
            {solver.sha256.slice(0, 16)}… · {formatBytes(solver.bytes)} ·{' '}
            {formatRelative(solver.created_at, Date.now())}
          </option>
        ))}
      </select>
      {mayUpload && (
        <Row>
          <input
            ref={file}
            type="file"
            hidden
            aria-label="File of the solver"
            onChange={(event) => {
              const [chosen] = event.target.files ?? [];
              event.target.value = '';
              if (chosen) void upload(chosen);
            }}
          />
          <Button icon={<Upload />} busy={uploading !== null} onClick={() => file.current?.click()}>
            {uploading === null ? 'Upload a file' : `Uploading ${uploading}`}
          </Button>
          <span className={styles.hint}>Any program: a script with a #! line, or a binary.</span>
        </Row>
      )}
      <div
        id={`${id}-note`}
        className={error ? styles.error : styles.hint}
        role={error ? 'alert' : undefined}
      >
        {error ?? (solvers.error ? 'The solvers could not be read; try again in a moment.' : checksum)}
      </div>
    </div>
  );
}
