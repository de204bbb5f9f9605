/** One live stream for a whole browser, which survives the loss of the hub. */
import { expect, test } from './fixtures';

test('a lost hub is said with the age of the data, and nothing is missed when it is back', async ({
  admin,
  hub,
}) => {
  await hub.enqueue({ type: 'before' });
  const page = await admin.open('/jobs');
  await page.getByRole('row', { name: /before/ }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();

  await hub.kill();
  await page.getByText(/Hub unreachable, data is \d+ s old/).waitFor();
  await page.getByRole('row', { name: /before/ }).waitFor();

  await hub.start();
  // Before the page can know that the hub is back.
  const claimed = await hub.claim('somebody', 'before');
  await hub.report(claimed, 'somebody', 'result', { result: 'done meanwhile' });
  await hub.enqueue({ type: 'during' });
  await page.getByRole('row', { name: /during/ }).waitFor();
  await page.getByRole('row', { name: /Completed.*before.*done meanwhile/ }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  expect(await page.getByText(/Hub unreachable/).count()).toBe(0);

  await hub.enqueue({ type: 'after' });
  await page.getByRole('row', { name: /after/ }).waitFor();
});

test('seven tabs are all live on one stream', async ({ admin, hub }) => {
  const tabs = [];
  for (let tab = 0; tab < 7; tab += 1) tabs.push(await admin.open('/jobs'));
  for (const page of tabs) await page.getByText('Live', { exact: true }).waitFor();
  const streams = async () => (await hub.get<{ clients: number }>('/api/health')).clients;
  await expect.poll(streams).toBe(1);

  const id = await hub.enqueue({ type: 'seen-by-all' });
  for (const page of tabs) await page.getByRole('row', { name: /Pending.*seen-by-all/ }).waitFor();
  await hub.post(`/api/jobs/${id}/kill`);
  for (const page of tabs) await page.getByRole('row', { name: /Quarantined.*seen-by-all/ }).waitFor();
  expect(await streams()).toBe(1);

  // The last tab takes the stream with it.
  for (const page of tabs) await page.close();
  await expect.poll(streams, { timeout: 30_000 }).toBe(0);
});
