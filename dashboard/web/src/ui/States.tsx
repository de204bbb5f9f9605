/** What is shown where data is not: nothing yet, nothing at all, or something went wrong. */
import { Inbox, RotateCw, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { messageOf } from '../api/errors';
import { Button } from './Button';
import { cx } from './classes';
import styles from './States.module.css';

interface EmptyProps {
  title: string;
  /** What to do next. */
  children?: ReactNode;
  action?: ReactNode;
  icon?: ReactNode;
}

export function Empty({ title, children, action, icon }: EmptyProps) {
  return (
    <div className={styles.state}>
      <span className={styles.icon}>{icon ?? <Inbox />}</span>
      <p className={styles.title}>{title}</p>
      {children && <div className={styles.text}>{children}</div>}
      {action}
    </div>
  );
}

interface FailureProps {
  /** What could not be done: "The queues could not be read". */
  title: string;
  error: unknown;
  onRetry?: () => void;
}

export function Failure({ title, error, onRetry }: FailureProps) {
  return (
    <div className={styles.state} role="alert">
      <span className={cx(styles.icon, styles.bad)}>
        <TriangleAlert />
      </span>
      <p className={styles.title}>{title}</p>
      <p className={styles.text}>{messageOf(error)}</p>
      {onRetry && (
        <Button icon={<RotateCw />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A quiet shape where something is about to be. */
export function Skeleton({ lines = 3, height }: { lines?: number; height?: number }) {
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike.
        <span key={index} className={styles.bone} style={height ? { height } : undefined} />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  query: { data: T | undefined; error: Error | null; refetch: () => unknown };
  /** What could not be done, if it fails. */
  failure: string;
  loading?: ReactNode;
  children: (data: T) => ReactNode;
}

/** The data of a query once it is there; a failure is shown only where there is no older data. */
export function Loaded<T>({ query, failure, loading, children }: LoadedProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failure title={failure} error={query.error} onRetry={() => query.refetch()} />;
  return <>{loading ?? <Skeleton />}</>;
}
