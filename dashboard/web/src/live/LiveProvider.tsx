import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { keys } from '../api/queries';
import { applyToCache, Refresher } from './cache';
import { LiveClient, type LiveListener } from './client';
import type { Connection, RecentEvent } from './messages';

const LiveContext = createContext<LiveClient | null>(null);

/** Keeps the caches live while somebody who may watch is logged in. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const [live] = useState(() => new LiveClient());
  const client = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(client);
    const unlisten = live.listen((messages) => applyToCache(client, refresher, messages));
    const unlistenState = live.listenToState(() => {
      // A refused stream mostly means that the session is over: ask, and the login page shows.
      if (live.connection.phase === 'refused') void client.invalidateQueries({ queryKey: keys.session });
    });
    live.start();
    return () => {
      live.stop();
      unlisten();
      unlistenState();
      refresher.stop();
    };
  }, [live, client]);
  return <LiveContext value={live}>{children}</LiveContext>;
}

function useClient(): LiveClient {
  const live = useContext(LiveContext);
  if (!live) throw new Error('live data is used outside of LiveProvider');
  return live;
}

/** Calls back with every batch of live messages, at most one per frame. */
export function useLive(listener: LiveListener): void {
  const live = useClient();
  const newest = useRef(listener);
  useEffect(() => {
    newest.current = listener;
  });
  useEffect(() => live.listen((messages) => newest.current(messages)), [live]);
}

/** Asks for a job's log; its pieces come to `useLive` as messages of the topic `log`. */
export function useFollowLog(jobId: string | null): void {
  const live = useClient();
  useEffect(() => (jobId === null ? undefined : live.followLog(jobId)), [live, jobId]);
}

/** The latest events, newest first; anew with every batch. */
export function useRecentEvents(): readonly RecentEvent[] {
  const live = useClient();
  return useSyncExternalStore(
    (listener) => live.listen(listener),
    () => live.recent,
  );
}

export function useConnection(): Connection {
  const live = useClient();
  return useSyncExternalStore(live.listenToState, () => live.connection);
}
