import { describe, expect, it } from 'vitest';
import { ask } from './client';
import { ApiError, toApiError } from './errors';

describe('errors', () => {
  it('say what the hub says', () => {
    const error = toApiError(409, { error: 'the job runs; cancel it first', code: 'running', field: 'id' });
    expect(error).toMatchObject({
      message: 'the job runs; cancel it first',
      status: 409,
      code: 'running',
      field: 'id',
    });
  });
  it.each([null, '<html>', {}, { error: 5 }])('have words without a body of ours: %o', (body) => {
    expect(toApiError(500, body).message).toMatch(/500/);
  });
  it('tell a hub that is away from one that refuses', async () => {
    const away = ask(Promise.reject(new TypeError('Failed to fetch')));
    await expect(away).rejects.toMatchObject({ status: 0, code: 'unreachable' });
    const refused = ask(
      Promise.resolve({ error: { error: 'no', code: 'x' }, response: new Response(null, { status: 401 }) }),
    );
    await expect(refused).rejects.toSatisfy((error) => error instanceof ApiError && error.isLoggedOut);
  });
});
