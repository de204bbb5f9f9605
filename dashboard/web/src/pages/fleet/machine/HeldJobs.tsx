import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { keys, queries } from '../../../api/queries';
import { Refresher } from '../../../live/cache';
import { useLive } from '../../../live/LiveProvider';
import { JobBadge } from '../../../ui/Badge';
import { Card } from '../../../ui/Layout';
import { Meter } from '../../../ui/Meter';
import { Loaded } from '../../../ui/States';
import { Table, Td, Th } from '../../../ui/Table';
import { Since } from '../../../ui/Values';
import styles from './HeldJobs.module.css';

const READ_EVERY_MS = 1_000;

/** What the machine works on now. */
export function HeldJobs({ workerId }: { workerId: string }) {
  const jobs = useQuery(queries.heldJobs(workerId));
  useReadAgainWithEvents(workerId);
  return (
    <Card
      title="Running now"
      flush
      aside={<Link href={`/jobs?worker_id=${encodeURIComponent(workerId)}`}>All its jobs</Link>}
    >
      <Loaded query={jobs} failure="Its jobs could not be read">
        {(held) =>
          held.length === 0 ? (
            <p className={styles.none}>Nothing: its slots are free.</p>
          ) : (
            <Table
              label="Jobs it runs now"
              head={
                <>
                  <Th>Job</Th>
                  <Th wide>Status</Th>
                  <Th>Progress</Th>
                  <Th number>For</Th>
                </>
              }
            >
              {held.map((job) => (
                <tr key={job.id}>
                  <Td className={styles.job}>
                    <Link href={`/jobs/${encodeURIComponent(job.id)}`}>
                      <b>{job.type}</b> <span className={styles.id}>{job.id}</span>
                    </Link>
                  </Td>
                  <Td wide>
                    <JobBadge state={job.status} small />
                  </Td>
                  <Td className={styles.progress}>
                    {job.progress && (
                      <Meter
                        label={job.progress.message ?? 'Progress'}
                        percent={job.progress.percent ?? null}
                        warnFrom={101}
                        badFrom={101}
                      />
                    )}
                  </Td>
                  <Td number>
                    <Since ts={job.started_at ?? job.claimed_at} />
                  </Td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}

function useReadAgainWithEvents(workerId: string): void {
  const client = useQueryClient();
  const [refresher] = useState(() => new Refresher(client));
  useEffect(() => () => refresher.stop(), [refresher]);
  useLive((messages) => {
    const concerns = messages.some(
      (message) => message.topic === 'event' && message.event.worker_id === workerId,
    );
    if (concerns) refresher.refresh(keys.heldJobs(workerId), READ_EVERY_MS);
  });
}
