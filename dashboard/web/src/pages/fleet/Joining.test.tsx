import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { newQueryClient } from '../../api/queries';
import { ToastProvider } from '../../ui/Toasts';
import { Joining } from './Joining';

function show(downloads: object[]) {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
    const { pathname } = new URL((input as Request).url);
    return new Response(JSON.stringify(pathname === '/api/downloads' ? downloads : []), { status: 200 });
  });
  const prepared = { nodeId: 'rack-3', nodeName: 'Rack 3', hubUrl: 'https://hub', secret: 'fq_a1', since: 1 };
  render(
    <QueryClientProvider client={newQueryClient()}>
      <ToastProvider>
        <Joining prepared={prepared} onAnother={() => {}} />
      </ToastProvider>
    </QueryClientProvider>,
  );
}

it('offers the installer first where the hub has the agent, and the other lines beside it', async () => {
  show([{ name: 'forge-agent-linux-x86_64', bytes: 1, sha256: 'a' }]);
  expect(await screen.findByText(/install\.sh --hub https:\/\/hub --id rack-3/)).toBeInTheDocument();
  fireEvent.click(screen.getByText('With an agent'));
  expect(screen.getByText(/^HUB_URL=https:\/\/hub .* forge-agent$/)).toBeInTheDocument();
  expect(screen.queryByText(/install\.sh/)).not.toBeInTheDocument();
});

it('starts an agent that is there where the hub has none to give', async () => {
  show([]);
  expect(await screen.findByText(/^HUB_URL=https:\/\/hub .* forge-agent$/)).toBeInTheDocument();
  expect(screen.queryByText('Install on Linux')).not.toBeInTheDocument();
});
