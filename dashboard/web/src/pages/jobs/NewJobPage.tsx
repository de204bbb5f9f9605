import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { api, askWithResponse } from '../../api/client';
import { curl } from '../../api/curl';
import { ApiError, messageOf } from '../../api/errors';
import { queries } from '../../api/queries';
import { useCan } from '../../api/session';
import { Button } from '../../ui/Button';
import { Code } from '../../ui/Code';
import { Field } from '../../ui/Field';
import { Card, Page } from '../../ui/Layout';
import { Loaded } from '../../ui/States';
import { useToast } from '../../ui/Toasts';
import { jobHref } from './columns';
import { bodyFrom, type Draft, draftOf, EMPTY, type Mistakes } from './draft';
import { Choice, JsonField, SpanField } from './fields';
import styles from './NewJobPage.module.css';
import { bodyText } from './newJob';
import { ProgramFields } from './ProgramFields';

export default function NewJobPage() {
  const clone = new URLSearchParams(useSearch()).get('clone');
  const original = useQuery({ ...queries.job(clone ?? ''), enabled: clone !== null });
  return (
    <Page
      title="New job"
      crumb={<Link href="/jobs">Jobs</Link>}
      aside={
        clone && (
          <span className={styles.aside}>
            like <Link href={jobHref(clone)}>{clone}</Link>
          </span>
        )
      }
    >
      {clone === null ? (
        <JobForm initial={EMPTY} />
      ) : (
        <Loaded query={original} failure="The job to clone could not be read">
          {(job) => <JobForm key={clone} initial={draftOf(job)} />}
        </Loaded>
      )}
    </Page>
  );
}

const TIMES = [
  { value: 'now', label: 'As soon as possible' },
  { value: 'at', label: 'At a time' },
  { value: 'after', label: 'After a delay' },
] as const;

function JobForm({ initial }: { initial: Draft }) {
  const [, navigate] = useLocation();
  const toast = useToast();
  const form = useRef<HTMLFormElement>(null);
  const mayWatch = useCan('list_workers');
  const queues = useQuery({ ...queries.overview(), enabled: mayWatch }).data?.queues ?? [];
  const [draft, setDraft] = useState(initial);
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState<{ draft: Draft; error: unknown } | null>(null);
  const [busy, setBusy] = useState(false);
  const { body, mistakes: own } = bodyFrom(draft);
  const change = (fields: Partial<Draft>) => setDraft((before) => ({ ...before, ...fields }));

  // What the hub refused stands until the form is changed; own mistakes show once it was tried.
  const error = refused?.draft === draft ? refused.error : null;
  const field = error instanceof ApiError ? error.field : undefined;
  const mistakes: Mistakes = { ...(tried ? own : {}), ...(field ? { [field]: messageOf(error) } : {}) };

  function showFirstMistake() {
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (Object.keys(own).length > 0) return showFirstMistake();
    setBusy(true);
    try {
      const call = api.POST('/api/jobs', { body, bodySerializer: bodyText });
      const { data, response } = await askWithResponse(call);
      toast.ok(
        response.status === 200
          ? 'This idempotency key was used before: here is the job it made.'
          : 'The job is submitted.',
      );
      navigate(jobHref(data.id));
    } catch (thrown) {
      setRefused({ draft, error: thrown });
      setBusy(false);
      showFirstMistake();
    }
  }

  return (
    <form ref={form} noValidate className={styles.form} onSubmit={submit}>
      <div className={styles.column}>
        <Card title="What">
          <div className={styles.fields}>
            <div className={styles.pair}>
              <Field
                label="Type"
                value={draft.type}
                required
                placeholder="resize"
                error={mistakes.type}
                onChange={(event) => change({ type: event.target.value })}
              />
              <Field
                label="Queue"
                value={draft.queue}
                placeholder="default"
                list="queues-known"
                error={mistakes.queue}
                onChange={(event) => change({ queue: event.target.value })}
              />
              <datalist id="queues-known">
                {queues.map((queue) => (
                  <option key={queue.name} value={queue.name} />
                ))}
              </datalist>
            </div>
            <JsonField
              label="Params"
              value={draft.params}
              error={mistakes.params}
              onChange={(params) => change({ params })}
            />
            <ProgramFields draft={draft} mistakes={mistakes} onChange={change} />
          </div>
        </Card>
      </div>
      <div className={styles.column}>
        <Card title="When and how often">
          <div className={styles.fields}>
            <Choice label="Run" options={TIMES} chosen={draft.when} onChoose={(when) => change({ when })} />
            {draft.when === 'at' && (
              <Field
                label="Run at"
                type="datetime-local"
                step={1}
                value={draft.at}
                hint="In your own time zone."
                error={mistakes.run_at}
                onChange={(event) => change({ at: event.target.value })}
              />
            )}
            {draft.when === 'after' && (
              <SpanField
                label="Delay"
                span={draft.after}
                error={mistakes.delay_ms}
                onChange={(after) => change({ after })}
              />
            )}
            <div className={styles.pair}>
              <Field
                label="Priority"
                type="number"
                value={draft.priority}
                placeholder="0"
                hint="Higher is sooner."
                error={mistakes.priority}
                onChange={(event) => change({ priority: event.target.value })}
              />
              <Field
                label="Attempts at most"
                type="number"
                min={1}
                value={draft.attempts}
                placeholder="3"
                error={mistakes.max_attempts}
                onChange={(event) => change({ attempts: event.target.value })}
              />
            </div>
            <SpanField
              label="Runtime limit"
              span={draft.runtime}
              placeholder="5"
              disabled={!draft.hasRuntimeLimit}
              error={mistakes.max_runtime_ms}
              onChange={(runtime) => change({ runtime })}
            />
            <label className={styles.check}>
              <input
                type="checkbox"
                checked={!draft.hasRuntimeLimit}
                onChange={(event) => change({ hasRuntimeLimit: !event.target.checked })}
              />
              No runtime limit
            </label>
          </div>
        </Card>
        <Card title="Names">
          <div className={styles.fields}>
            <Field
              label="Tags"
              value={draft.tags}
              placeholder="nightly, gpu"
              hint="Separated by commas."
              error={mistakes.tags}
              onChange={(event) => change({ tags: event.target.value })}
            />
            <Field
              label="Idempotency key"
              value={draft.key}
              hint="The same key again gives the first job instead of a second one."
              error={mistakes.idempotency_key}
              onChange={(event) => change({ key: event.target.value })}
            />
          </div>
        </Card>
        <Card title="The same with curl">
          <Code label="Command that submits this job" text={curl('POST', '/api/jobs', bodyText(body))} />
        </Card>
      </div>
      <div className={styles.end}>
        <Button look="primary" type="submit" busy={busy}>
          Submit the job
        </Button>
        {error !== null && (
          <p role="alert" className={styles.error}>
            The hub did not take it: {messageOf(error)}
          </p>
        )}
      </div>
    </form>
  );
}
