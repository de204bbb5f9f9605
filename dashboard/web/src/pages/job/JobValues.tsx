/** What went in and what came out, as a tree or as it is. */
import { useState } from 'react';
import { stringifyExact } from '../../api/exactJson';
import type { Job } from '../../api/types';
import { Button } from '../../ui/Button';
import { Code } from '../../ui/Code';
import { JsonTree } from '../../ui/JsonTree';
import { Card } from '../../ui/Layout';
import styles from './JobValues.module.css';

export function JobValues({ job }: { job: Job }) {
  return (
    <>
      <Value title="Params" value={job.params} />
      {job.result == null ? (
        <Card title="Result">
          <p>{whyNoResult(job)}</p>
        </Card>
      ) : (
        <Value title="Result" value={job.result} />
      )}
    </>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  const [raw, setRaw] = useState(false);
  return (
    <Card
      title={title}
      aside={
        <Button look="quiet" className={styles.toggle} aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {raw ? 'Tree' : 'Raw'}
        </Button>
      }
    >
      {raw ? (
        <Code label={title} text={stringifyExact(value, 2)} />
      ) : (
        <JsonTree label={title} value={value} />
      )}
    </Card>
  );
}

function whyNoResult(job: Job): string {
  if (job.status === 'completed') return 'It completed with the result null.';
  if (job.status === 'failed' || job.status === 'quarantined') return 'It ended without a result.';
  return 'It has no result yet.';
}
