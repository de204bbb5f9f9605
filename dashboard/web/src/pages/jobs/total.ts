import type { JobsFilter } from '../../api/queries';
import type { Overview } from '../../api/types';

/** How many jobs a filter means, where the overview knows; `null` where only a count would tell. */
export function countOf(overview: Overview | undefined, filter: JobsFilter): number | null {
  if (!overview) return null;
  const names = Object.keys(filter).filter((name) => filter[name as keyof JobsFilter] !== undefined);
  if (names.length === 0) return Object.values(overview.jobs).reduce((sum, count) => sum + count, 0);
  if (names.length > 1) return null;
  if (filter.status) return overview.jobs[filter.status] ?? null;
  if (filter.view) return overview.views[filter.view] ?? null;
  return null;
}
