/** Machines come, are seen and are told what to do. */
import { Agent } from './agent';
import { expect, test } from './fixtures';

test('a machine is added with the line that the page shows', async ({ admin, hub }) => {
  const page = await admin.open('/fleet');
  await page.getByRole('link', { name: 'Add a machine' }).first().click();
  await page.getByLabel('Name').fill("Ada's rack");
  await page.getByRole('button', { name: 'Make its token' }).click();
  await page.getByText("Waiting for Ada's rack").waitFor();
  const line = await page.getByText('HUB_URL=').first().textContent();
  expect(line).toContain(hub.url);

  const agent = Agent.fromLine(line ?? '');
  try {
    await page.getByText("Ada's rack has arrived").waitFor();
    await page.getByText('It takes jobs.').waitFor();
    await page.getByRole('link', { name: "Look at Ada's rack" }).click();
    await page.getByRole('heading', { name: "Ada's rack", level: 1 }).waitFor();
    await page.getByText('Online', { exact: true }).first().waitFor();
    expect(await hub.get<object[]>('/api/workers')).toMatchObject([{ id: 'ada-s-rack', state: 'online' }]);
  } finally {
    await agent.remove();
  }
});

test('a machine is drained and takes jobs again', async ({ admin, hub, startAgent }) => {
  startAgent('drained');
  const page = await admin.open('/fleet/drained');
  await page.getByRole('button', { name: 'Drain' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Drain/ })
    .click();
  await page.getByText('Draining', { exact: true }).first().waitFor();
  const state = async () => (await hub.get<{ state: string }>('/api/workers/drained')).state;
  expect(await state()).toBe('draining');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Drain' }).waitFor();
  expect(await state()).toBe('online');
});

test('charts have the colours of the theme', async ({ admin, startAgent }) => {
  startAgent('drawn');
  const page = await admin.see('/fleet/drawn', 'CPU');
  const chart = page.getByRole('img', { name: /^CPU/ }).locator('canvas');
  const hasLines = () =>
    chart.evaluate((canvas: HTMLCanvasElement) => {
      const probe = document.body.appendChild(document.createElement('i'));
      probe.style.color = 'var(--line)';
      const line = getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).join();
      probe.remove();
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {
        data: [],
      };
      for (let at = 0; at < data.length; at += 4) if (data.slice(at, at + 3).join() === line) return true;
      return false;
    });
  await expect.poll(hasLines).toBe(true);
});
