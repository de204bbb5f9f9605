/** Says how many jobs an action means, asks, does it and shows how far it is. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BulkAction } from '../../api/types';
import { Button } from '../../ui/Button';
import { Confirm, Dialog } from '../../ui/Dialog';
import { Field } from '../../ui/Field';
import { formatNumber, plural } from '../../ui/format';
import { Meter } from '../../ui/Meter';
import { Failure, Skeleton } from '../../ui/States';
import { useToast } from '../../ui/Toasts';
import styles from './ActionDialog.module.css';
import { ACTIONS, act, countMatching, type Outcome, type Target } from './actions';

interface ActionDialogProps {
  action: BulkAction;
  /** In place of the action's own word. */
  label?: string | undefined;
  target: Target;
  onDone?: (() => void) | undefined;
  onClose: () => void;
}

export function ActionDialog(props: ActionDialogProps) {
  const { target } = props;
  if ('ids' in target) return <Ask {...props} count={target.ids.length} sample={[]} />;
  return <CountFirst {...props} filter={target.filter} />;
}

function CountFirst(props: ActionDialogProps & { filter: Parameters<typeof countMatching>[1] }) {
  const { action, label = ACTIONS[action].label, filter, onClose } = props;
  const count = useQuery({
    queryKey: ['bulk count', action, filter],
    queryFn: () => countMatching(action, filter),
    staleTime: 0,
    gcTime: 0,
  });
  if (count.data && count.data.matched > 0 && !count.isFetching) {
    return <Ask {...props} count={count.data.matched} sample={count.data.sample ?? []} />;
  }
  return (
    <Dialog title={label} onClose={onClose} footer={<Button onClick={onClose}>Back</Button>}>
      {count.error ? (
        <Failure
          title="The jobs could not be counted"
          error={count.error}
          onRetry={() => void count.refetch()}
        />
      ) : count.data && !count.isFetching ? (
        <p>No job matches any more. Close this and look at the list again.</p>
      ) : (
        <Skeleton lines={2} />
      )}
    </Dialog>
  );
}

function Ask(props: ActionDialogProps & { count: number; sample: readonly string[] }) {
  const { action, label, target, count, sample, onDone, onClose } = props;
  const words = ACTIONS[action];
  const verb = label ?? words.label;
  const toast = useToast();
  const [priority, setPriority] = useState('0');
  const [progress, setProgress] = useState<Outcome | null>(null);
  const many = 'filter' in target;
  const needsPriority = action === 'set_priority';
  const number = Number(priority);
  const wrong =
    needsPriority && (priority.trim() === '' || !Number.isInteger(number) || Math.abs(number) > 32_767);

  async function run() {
    if (wrong) throw new Error('The priority must be a whole number from -32767 to 32767.');
    const outcome = await act(action, target, needsPriority ? number : undefined, setProgress);
    const skipped =
      outcome.skipped > 0
        ? ` ${plural(outcome.skipped, 'job')} left as they were: the state does not allow it.`
        : '';
    toast.ok(`${words.past} ${plural(outcome.changed, 'job')}.${skipped}`);
    onDone?.();
  }

  // Deleted jobs do not come back; and who stops all that match should have read how many that is.
  const typed =
    action === 'delete' || (many && words.danger) ? { typed: `${verb.toLowerCase()} ${count}` } : {};
  return (
    <Confirm
      title={`${verb}: ${plural(count, 'job')}?`}
      verb={`${verb} ${formatNumber(count)}`}
      danger={words.danger ?? false}
      {...typed}
      onConfirm={run}
      onClose={onClose}
    >
      <div className={styles.body}>
        <p>
          {many && <strong>{plural(count, 'job matches', 'jobs match')}. </strong>}
          {words.explains}
        </p>
        {sample.length > 0 && (
          <p className={styles.sample}>
            The oldest:{' '}
            {sample.slice(0, 3).map((id) => (
              <code key={id}>{id}</code>
            ))}
          </p>
        )}
        {needsPriority && (
          <Field
            label="New priority"
            type="number"
            value={priority}
            hint="A whole number; 0 is normal, higher is sooner."
            onChange={(event) => setPriority(event.target.value)}
          />
        )}
        {progress && (
          <Meter
            label="Done"
            percent={((progress.changed + progress.skipped) / Math.max(1, count)) * 100}
            text={`${formatNumber(progress.changed + progress.skipped)} of ${formatNumber(count)}`}
            warnFrom={101}
            badFrom={101}
          />
        )}
        {progress && many && <p className={styles.sample}>You may close this: the hub goes on by itself.</p>}
      </div>
    </Confirm>
  );
}
