import createClient from 'openapi-fetch';
import { toApiError, unreachable } from './errors';
import type { paths } from './schema';

/** The hub's typed API. Wrap calls in `ask` to get the data or an `ApiError`. */
export const api = createClient<paths>({
  baseUrl: typeof location === 'undefined' ? '' : location.origin,
  // Looked up at each call, so that tests can stand in for the network.
  fetch: (request) => globalThis.fetch(request),
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of a call, or an `ApiError` that can be shown as it is. */
export async function ask<T>(call: Promise<Answer<T>>): Promise<T> {
  return (await askWithResponse(call)).data;
}

/** As `ask`, for calls whose headers matter, such as a list's next cursor. */
export async function askWithResponse<T>(call: Promise<Answer<T>>): Promise<{ data: T; response: Response }> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (!answer.response.ok) throw toApiError(answer.response.status, answer.error);
  return { data: answer.data as T, response: answer.response };
}

/** A GET that the API's types do not describe. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, { signal: signal ?? null, headers: { accept: 'application/json' } });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, body);
  return body as T;
}
