/** What can be done to this job now, by who looks at it. */
import { useQueryClient } from '@tanstack/react-query';
import { Copy } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { keys } from '../../api/queries';
import { mayCall, useCan, useSession } from '../../api/session';
import type { BulkAction, Job } from '../../api/types';
import { Button, LinkButton } from '../../ui/Button';
import { useToast } from '../../ui/Toasts';
import { ActionDialog } from '../jobs/ActionDialog';
import { ACTIONS, actOn } from '../jobs/actions';

const OFFERED = ['retry', 'run_now', 'set_priority', 'cancel', 'kill', 'delete'] as const;
/** Done at once: they can be undone, or nothing is lost. */
const HARMLESS: readonly BulkAction[] = ['retry', 'run_now'];

export function JobActions({ job }: { job: Job }) {
  const [, navigate] = useLocation();
  const toast = useToast();
  const client = useQueryClient();
  // Events tell it too, but not to everybody.
  const readAgain = () => client.invalidateQueries({ queryKey: keys.job(job.id) });
  const scope = useSession().data?.scope;
  const mayClone = useCan('enqueue');
  const [asking, setAsking] = useState<BulkAction | null>(null);
  const [busy, setBusy] = useState<BulkAction | null>(null);
  const isDue = job.status === 'pending' && job.run_at <= Date.now();

  async function run(action: BulkAction) {
    setBusy(action);
    try {
      await actOn(action, job.id);
      void readAgain();
      toast.ok(action === 'retry' ? 'The job waits for a worker again.' : 'The job is due now.');
    } catch (error) {
      toast.failed(`${ACTIONS[action].label} did not work`, error);
    } finally {
      setBusy(null);
    }
  }

  const fitting = OFFERED.filter((action) => {
    const { fits, needs } = ACTIONS[action];
    if (!fits.includes(job.status) || !mayCall(scope, needs)) return false;
    if (action === 'run_now') return !isDue;
    return !(action === 'cancel' && job.cancel_requested);
  });
  return (
    <>
      {fitting.map((action) => (
        <Button
          key={action}
          look={ACTIONS[action].danger ? 'danger' : 'plain'}
          busy={busy === action}
          onClick={() => (HARMLESS.includes(action) ? void run(action) : setAsking(action))}
        >
          {ACTIONS[action].label}
        </Button>
      ))}
      {mayClone && (
        <LinkButton href={`/jobs/new?clone=${encodeURIComponent(job.id)}`} icon={<Copy />}>
          Clone
        </LinkButton>
      )}
      {asking && (
        <ActionDialog
          action={asking}
          target={{ ids: [job.id] }}
          onDone={() => {
            if (asking === 'delete') navigate('/jobs');
            else void readAgain();
          }}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}
