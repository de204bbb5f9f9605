import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { newQueryClient } from '../../api/queries';
import { ToastProvider } from '../../ui/Toasts';
import { ActionDialog } from './ActionDialog';
import type { Target } from './actions';

interface Call {
  method: string;
  path: string;
  body: unknown;
}

/** Answers in turn, and remembers what was asked. */
function hub(...answers: [status: number, body: object][]): Call[] {
  const calls: Call[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
    const request = input as Request;
    const text = await request.text();
    calls.push({
      method: request.method,
      path: new URL(request.url).pathname,
      body: text ? JSON.parse(text) : null,
    });
    const [status, body] = answers.shift() ?? [500, { error: 'asked too often' }];
    return new Response(JSON.stringify(body), { status });
  });
  return calls;
}

function show(action: 'retry' | 'delete' | 'cancel', target: Target) {
  const onClose = vi.fn();
  render(
    <QueryClientProvider client={newQueryClient()}>
      <ToastProvider>
        <ActionDialog action={action} target={target} onClose={onClose} />
      </ToastProvider>
    </QueryClientProvider>,
  );
  return onClose;
}

const counted = (matched: number) =>
  [200, { done: true, matched, changed: 0, skipped: 0, sample: ['a'] }] as [number, object];

it('counts before it asks, and follows a long action to its end', async () => {
  const filter = { view: 'dead', type: 'x' } as const;
  const calls = hub(
    counted(5_000),
    [202, { operation: 'op_1', done: false, matched: 300, changed: 300, skipped: 0 }],
    [200, { operation: 'op_1', done: true, matched: 5_000, changed: 4_990, skipped: 10 }],
  );
  const onClose = show('retry', { filter });
  fireEvent.click(await screen.findByText('Retry 5,000'));
  expect(await screen.findByText('300 of 5,000')).toBeInTheDocument();
  await waitFor(() => expect(onClose).toHaveBeenCalled(), { timeout: 3_000 });
  expect(screen.getByText(/Retried 4,990 jobs\. 10 jobs left/)).toBeInTheDocument();
  expect(calls).toEqual([
    { method: 'POST', path: '/api/jobs/bulk', body: { action: 'retry', filter, dry_run: true } },
    { method: 'POST', path: '/api/jobs/bulk', body: { action: 'retry', filter } },
    { method: 'GET', path: '/api/operations/op_1', body: null },
  ]);
});

it('deletes nothing before it was typed', async () => {
  const calls = hub([204, {}]);
  show('delete', { ids: ['a'] });
  expect(screen.getByText('Delete 1')).toBeDisabled();
  fireEvent.change(screen.getByRole('textbox'), { target: { value: 'delete 1' } });
  expect(screen.getByText('Delete 1')).toBeEnabled();
  expect(calls).toEqual([]);
});

it('goes on past jobs whose state does not allow it', async () => {
  const calls = hub(
    [200, { status: 'failed' }],
    [409, { error: 'it has ended', code: 'conflict' }],
    [200, { status: 'failed' }],
  );
  const onClose = show('cancel', { ids: ['a', 'b', 'c'] });
  fireEvent.click(screen.getByText('Cancel 3'));
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(screen.getByText(/Cancelled 2 jobs\. 1 job left/)).toBeInTheDocument();
  expect(calls.map(({ path }) => path).sort()).toEqual(['a', 'b', 'c'].map((id) => `/api/jobs/${id}/cancel`));
});

it('says when nothing matches any more', async () => {
  hub(counted(0));
  show('retry', { filter: { view: 'dead' } });
  expect(await screen.findByText(/No job matches any more/)).toBeInTheDocument();
});
