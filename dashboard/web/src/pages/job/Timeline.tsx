import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { queries } from '../../api/queries';
import type { Job } from '../../api/types';
import { Badge, type Tone } from '../../ui/Badge';
import { cx } from '../../ui/classes';
import { useNow } from '../../ui/clock';
import { formatDuration } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { Loaded } from '../../ui/States';
import { Time } from '../../ui/Values';
import styles from './Timeline.module.css';
import { type PhaseName, type Stage, stagesOf } from './timeline';

const WORDS: Record<PhaseName, { word: string; title: string }> = {
  backoff: { word: 'not due', title: 'Scheduled for later, or resting after a failure' },
  waiting: { word: 'waited', title: 'Due, until a worker claimed it' },
  preparing: { word: 'prepared', title: 'Claimed: the solver was fetched and started' },
  running: { word: 'ran', title: 'The program ran' },
  reporting: { word: 'reported', title: 'From the end of the program until the hub knew' },
};

const OUTCOMES: Record<string, { tone: Tone; word: string }> = {
  waiting: { tone: 'idle', word: 'Waiting' },
  assigned: { tone: 'busy', word: 'Assigned' },
  running: { tone: 'info', word: 'Running' },
  completed: { tone: 'ok', word: 'Completed' },
  failed: { tone: 'bad', word: 'Failed' },
  timeout: { tone: 'bad', word: 'Timed out' },
  expired: { tone: 'warn', word: 'Lease lost' },
  released: { tone: 'idle', word: 'Given back' },
  snoozed: { tone: 'idle', word: 'Snoozed' },
  cancelled: { tone: 'idle', word: 'Cancelled' },
};

export function Timeline({ job }: { job: Job }) {
  const attempts = useQuery(queries.attempts(job.id));
  return (
    <Card title="Attempts" aside={`${job.attempts} of ${job.max_attempts} used`}>
      <Loaded query={attempts} failure="The attempts could not be read">
        {(data) => <Stages job={job} attempts={data} />}
      </Loaded>
    </Card>
  );
}

function Stages({ job, attempts }: { job: Job; attempts: Parameters<typeof stagesOf>[1] }) {
  const now = useNow();
  const stages = stagesOf(job, attempts, now);
  const longest = Math.max(1, ...stages.map(lengthOf));
  return (
    <ol className={styles.stages}>
      {stages.map((stage) => (
        <li key={stage.attempt} className={styles.stage}>
          <div className={styles.words}>
            <span className={styles.number}>#{stage.attempt}</span>
            <Outcome outcome={stage.outcome} />
            {stage.workerId && (
              <Link href={`/fleet/${encodeURIComponent(stage.workerId)}`} className={styles.machine}>
                {stage.workerId}
              </Link>
            )}
            {stage.startedAt !== null && (
              <span className={styles.when}>
                <Time ts={stage.startedAt} as="clock" />
              </span>
            )}
          </div>
          <div
            className={styles.bar}
            aria-hidden="true"
            style={{ width: `${share(lengthOf(stage), longest)}%` }}
          >
            {stage.phases.map((phase) => (
              <span
                key={phase.name}
                className={cx(styles.phase, styles[phase.name], phase.isOpen && styles.open)}
                style={{ flexGrow: Math.max(phase.ms, lengthOf(stage) / 100) }}
              />
            ))}
          </div>
          <ul className={styles.phases}>
            {stage.phases.map((phase) => (
              <li key={phase.name} title={WORDS[phase.name].title}>
                <span className={cx(styles.key, styles[phase.name])} aria-hidden="true" />
                {WORDS[phase.name].word} {formatDuration(phase.ms)}
                {phase.isOpen && '…'}
                {phase.name === 'backoff' && phase.isOpen && (
                  <>
                    , due <Time ts={job.run_at} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function Outcome({ outcome }: { outcome: string }) {
  const { tone, word } = OUTCOMES[outcome] ?? { tone: 'idle', word: outcome };
  return <Badge tone={tone}>{word}</Badge>;
}

function lengthOf(stage: Stage): number {
  return stage.phases.reduce((sum, phase) => sum + phase.ms, 0);
}

/** Long beside short stays to be seen: by the logarithm. */
function share(ms: number, longest: number): number {
  return Math.max(2, (Math.log10(ms + 10) / Math.log10(longest + 10)) * 100);
}
