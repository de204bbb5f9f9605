import { useQuery } from '@tanstack/react-query';
import { queries } from '../api/queries';
import type { Problem } from '../api/types';
import { cx } from '../ui/classes';
import { useNow } from '../ui/clock';
import { formatAge } from '../ui/format';
import styles from './ConnectionState.module.css';

const ASK_EVERY_MS = 15_000;

/** What a person is told about one of the hub's problems. */
export function tell({ message, since }: Problem, now: number): string {
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return `${sentence}. For ${formatAge(Math.max(0, now - since))}.`;
}

/** Above the page while the hub itself needs somebody. */
export function ProblemsBanner() {
  const { data } = useQuery({ ...queries.health(), refetchInterval: ASK_EVERY_MS });
  const now = useNow();
  return (
    <div role="status">
      {data?.problems.map((problem) => (
        <p key={problem.code} className={cx(styles.banner, styles.bad)}>
          {tell(problem, now)}
        </p>
      ))}
    </div>
  );
}
