import { useQueryClient } from '@tanstack/react-query';
import { CirclePause, CirclePlay, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, ask } from '../../../api/client';
import { keys } from '../../../api/queries';
import { useCan } from '../../../api/session';
import type { Worker } from '../../../api/types';
import { Button } from '../../../ui/Button';
import { Confirm } from '../../../ui/Dialog';
import { plural } from '../../../ui/format';
import { useToast } from '../../../ui/Toasts';

/** Drain, resume and forget, for those who may. */
export function WorkerActions({ worker, hasMetrics }: { worker: Worker; hasMetrics: boolean }) {
  const [asking, setAsking] = useState<'drain' | 'forget' | null>(null);
  const [busy, setBusy] = useState(false);
  const mayDrain = useCan('drain');
  const mayResume = useCan('resume');
  const mayForget = useCan('forget_worker');
  const client = useQueryClient();
  const toast = useToast();
  const [, navigate] = useLocation();
  const params = { params: { path: { id: worker.id } } };
  const readAgain = () => client.invalidateQueries({ queryKey: keys.workers });

  async function drain() {
    await ask(api.POST('/api/workers/{id}/drain', params));
    await readAgain();
    toast.ok(`${worker.id} takes no more jobs.`);
  }

  async function resume() {
    setBusy(true);
    try {
      await ask(api.POST('/api/workers/{id}/resume', params));
      await readAgain();
      toast.ok(`${worker.id} takes jobs again.`);
    } catch (error) {
      toast.failed('The worker could not be resumed', error);
    }
    setBusy(false);
  }

  async function forget() {
    await ask(api.DELETE('/api/workers/{id}', params));
    await readAgain();
    toast.ok(`${worker.id} is forgotten as a worker.`);
    if (!hasMetrics) navigate('/fleet');
  }

  return (
    <>
      {worker.draining
        ? mayResume && (
            <Button icon={<CirclePlay />} busy={busy} onClick={resume}>
              Resume
            </Button>
          )
        : mayDrain && (
            <Button icon={<CirclePause />} onClick={() => setAsking('drain')}>
              Drain…
            </Button>
          )}
      {mayForget && (
        <Button look="danger" icon={<Trash2 />} onClick={() => setAsking('forget')}>
          Forget…
        </Button>
      )}
      {asking === 'drain' && (
        <Confirm title={`Drain ${worker.id}?`} verb="Drain" onConfirm={drain} onClose={() => setAsking(null)}>
          {worker.jobs > 0 && `It finishes the ${plural(worker.jobs, 'job')} it has. `}
          It takes nothing new until it is resumed, also after a restart.
        </Confirm>
      )}
      {asking === 'forget' && (
        <Confirm
          title={`Forget ${worker.id}?`}
          verb="Forget"
          danger
          onConfirm={forget}
          onClose={() => setAsking(null)}
        >
          The worker leaves the list; the jobs it has stay as they are.{' '}
          {worker.state === 'lost'
            ? 'It comes back by itself should its agent start again.'
            : 'Its agent is still running, so it comes back when it registers again: stop the agent first.'}
          {hasMetrics && ' What it measured stays.'}
        </Confirm>
      )}
    </>
  );
}
