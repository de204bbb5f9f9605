/** Who is logged in, and what they may do. */
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, ask } from './client';
import { ApiError } from './errors';
import { keys } from './queries';
import { type Operation, scopes } from './scopes';
import type { Scope, Session } from './types';

const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      return await ask(api.GET('/api/session', { signal }));
    } catch (error) {
      if (error instanceof ApiError && error.isLoggedOut) return null;
      throw error;
    }
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** The session, or `null` when nobody is logged in. */
export function useSession() {
  return useQuery(sessionQuery);
}

/** Asks who is logged in before anything is drawn that wants to know. */
export function askForSession(client: QueryClient): void {
  void client.prefetchQuery(sessionQuery);
}

export function mayCall(scope: Scope | undefined, operation: Operation): boolean {
  return scope !== undefined && (scopes[operation] as readonly Scope[]).includes(scope);
}

/**
 * Whether this session may call an operation of the API. Who may call what is generated from the
 * same document that the hub enforces, so a button that shows is a button that works.
 */
export function useCan(operation: Operation): boolean {
  return mayCall(useSession().data?.scope, operation);
}

/** What one person was shown is not kept for the next. */
function changeSession(client: QueryClient, session: Session | null): void {
  client.removeQueries({ predicate: (query) => query.queryKey[0] !== keys.session[0] });
  client.setQueryData(keys.session, session);
}

export function useLogIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => ask(api.POST('/api/session', { body: { token } })),
    onSuccess: (session) => changeSession(client, session),
  });
}

export function useLogOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.DELETE('/api/session')),
    onSettled: () => changeSession(client, null),
  });
}

/** Takes the token out of a link `…/#token=…`, and out of the address and the history. */
export function takeTokenFromAddress(): string | null {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (!match?.[1]) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  try {
    return decodeURIComponent(match[1]);
  } catch {
    return match[1];
  }
}
