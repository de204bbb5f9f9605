/** The one place where an answer that is no success becomes something a person can read. */

/** Something that went wrong, told for a person. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    message: string,
    /** 0 when the hub did not answer at all. */
    readonly status: number,
    /** The hub's machine word, such as `not_found`. */
    readonly code: string,
    /** The field of the request that is at fault. */
    readonly field?: string,
  ) {
    super(message);
  }

  get isLoggedOut(): boolean {
    return this.status === 401;
  }
}

interface ErrorBody {
  error?: unknown;
  code?: unknown;
  field?: unknown;
}

/** Reads the hub's error body; without one, the status has to do. */
export function toApiError(status: number, body: unknown): ApiError {
  const { error, code, field } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const message = typeof error === 'string' && error !== '' ? error : withoutBody(status);
  return new ApiError(
    message,
    status,
    typeof code === 'string' ? code : 'unknown',
    typeof field === 'string' ? field : undefined,
  );
}

function withoutBody(status: number): string {
  if (status === 401) return 'You are not logged in. Log in and try again.';
  if (status === 502 || status === 503 || status === 504) {
    return `The hub is not ready (${status}). It may be starting; try again in a moment.`;
  }
  return `The hub answered ${status} without saying why. Its log tells more.`;
}

export function unreachable(): ApiError {
  return new ApiError(
    'The hub cannot be reached. Check that it runs and that this machine has a network; the page goes on by itself.',
    0,
    'unreachable',
  );
}

/** What to tell a person about anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
