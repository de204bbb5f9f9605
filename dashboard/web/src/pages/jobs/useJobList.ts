import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { JobsFilter } from '../../api/queries';
import { useLive } from '../../live/LiveProvider';
import { useNow } from '../../ui/clock';
import { searchFor } from './filter';
import { JobList, type ListState } from './JobList';
import { rememberedPlace } from './place';

/** The live rows of everything that matches. */
export function useJobList(filter: JobsFilter): { list: JobList; state: ListState } {
  const key = searchFor(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all that the filter says.
  const list = useMemo(() => new JobList(filter), [key]);
  const state = useSyncExternalStore(list.subscribe, list.state);
  useEffect(() => {
    list.start(rememberedPlace()?.rows);
    return () => list.stop();
  }, [list]);
  useLive((messages) => {
    if (messages.some((message) => message.topic === 'reset')) {
      list.reset();
      return;
    }
    const events = messages.flatMap((message) => (message.topic === 'event' ? [message.event] : []));
    if (events.length > 0) list.apply(events, Date.now());
  });
  const now = useNow();
  useEffect(() => list.leaveOutDue(now), [list, now]);
  return { list, state };
}
