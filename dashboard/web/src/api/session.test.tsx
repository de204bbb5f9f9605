import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { keys, newQueryClient } from './queries';
import { mayCall, takeTokenFromAddress, useCan, useLogOut, useSession } from './session';
import type { Scope } from './types';

function CancelButton() {
  return useCan('cancel') ? <button type="button">Cancel</button> : <p>Only watching</p>;
}

function showAs(scope: Scope) {
  const client = newQueryClient();
  client.setQueryData(keys.session, { scope, token_id: 't', name: 'somebody', expires_at: 0 });
  render(
    <QueryClientProvider client={client}>
      <CancelButton />
    </QueryClientProvider>,
  );
}

describe('permissions', () => {
  it('a viewer sees no button that would be refused', () => {
    showAs('viewer');
    expect(screen.queryByRole('button')).toBeNull();
  });
  it.each(['producer', 'admin'] as const)('a session with the scope %s may cancel', (scope) => {
    showAs(scope);
    expect(screen.getByRole('button')).toBeInTheDocument();
  });
  it('nobody may do anything', () => expect(mayCall(undefined, 'health')).toBe(false));
  it('only administrators act on many jobs at once', () => {
    expect(mayCall('producer', 'bulk')).toBe(false);
    expect(mayCall('admin', 'bulk')).toBe(true);
  });
});

function Door() {
  return useSession().data ? <Inside /> : <p>Log in</p>;
}

function Inside() {
  const logOut = useLogOut();
  return (
    <button type="button" onClick={() => logOut.mutate()}>
      Log out
    </button>
  );
}

it('logging out closes the door and forgets what was shown', async () => {
  vi.stubGlobal('fetch', async () => new Response(null, { status: 204 }));
  const client = newQueryClient();
  client.setQueryData(keys.session, { scope: 'viewer', token_id: 't', name: 'somebody', expires_at: 0 });
  client.setQueryData(keys.fleet, []);
  render(
    <QueryClientProvider client={client}>
      <Door />
    </QueryClientProvider>,
  );
  fireEvent.click(screen.getByRole('button'));
  expect(await screen.findByText('Log in')).toBeInTheDocument();
  expect(client.getQueryData(keys.fleet)).toBeUndefined();
});

describe('a link with a token', () => {
  it('gives it once and takes it out of the address', () => {
    history.replaceState(null, '', '/jobs?status=failed#token=a%2Bb');
    expect(takeTokenFromAddress()).toBe('a+b');
    expect(location.href).toMatch(/\/jobs\?status=failed$/);
    expect(takeTokenFromAddress()).toBeNull();
  });
});
