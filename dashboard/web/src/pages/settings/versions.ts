import type { Worker } from '../../api/types';

/** How many agents run each version, the most common first; lost ones do not count. */
export function versionsOf(workers: Worker[]): { version: string | null; count: number }[] {
  const counts = new Map<string | null, number>();
  for (const { state, version } of workers) {
    if (state !== 'lost') counts.set(version ?? null, (counts.get(version ?? null) ?? 0) + 1);
  }
  return [...counts].map(([version, count]) => ({ version, count })).sort((a, b) => b.count - a.count);
}
