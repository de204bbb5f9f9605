import { useMutation, useQueryClient } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { useId, useState } from 'react';
import { api, ask } from '../../api/client';
import { messageOf } from '../../api/errors';
import { keys } from '../../api/queries';
import type { Scope } from '../../api/types';
import { Button } from '../../ui/Button';
import { Code } from '../../ui/Code';
import { Dialog } from '../../ui/Dialog';
import { Field } from '../../ui/Field';
import { Select } from '../../ui/Select';
import styles from './Settings.module.css';

const SCOPES: Record<Scope, string> = {
  viewer: 'viewer: looks at everything but tokens and the audit log',
  producer: 'producer: submits jobs and solvers, and follows them',
  worker: 'worker: one machine that sends metrics and runs jobs',
  admin: 'admin: may do everything',
};

/** Makes a token, then shows it for the only time. */
export function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>('viewer');
  const formId = useId();
  const make = useMutation({
    mutationFn: () => ask(api.POST('/api/tokens', { body: { name: name.trim(), scope } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.tokens }),
  });

  if (make.data) {
    return (
      <Dialog
        title={`The token “${make.data.name}”`}
        onClose={onClose}
        footer={
          <Button look="primary" onClick={onClose}>
            I have kept it
          </Button>
        }
      >
        <div className={styles.form}>
          <Code text={make.data.secret} label="Token" />
          <p className={styles.once}>
            <TriangleAlert aria-hidden="true" size={18} />
            <span>Copy it now: it is shown only this once, and the hub keeps no copy.</span>
          </p>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      title="New token"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            form={formId}
            look="primary"
            disabled={name.trim() === ''}
            busy={make.isPending}
          >
            Make it
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '' && !make.isPending) make.mutate();
        }}
      >
        <Field
          label="Name"
          required
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint="Who or what will use it; the audit log shows it."
        />
        <Select
          label="What it may do"
          options={Object.entries(SCOPES).map(([value, label]) => ({ value: value as Scope, label }))}
          value={scope}
          onChoose={setScope}
        />
        {make.error && (
          <p role="alert" className={styles.error}>
            {messageOf(make.error)}
          </p>
        )}
      </form>
    </Dialog>
  );
}
