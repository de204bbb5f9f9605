/** Work by a real agent, watched from its submission to its end without ever reading a page anew. */
import { SteeredSolver } from './agent';
import { expect, test } from './fixtures';

test('a job with a solver is submitted, watched live through its states, and its log grows', async ({
  admin,
  hub,
  startAgent,
}) => {
  const solver = new SteeredSolver({ answer: 42 });
  const page = await admin.open('/jobs');
  await page.getByRole('link', { name: 'New job' }).first().click();
  await page.getByLabel('Type', { exact: true }).fill('steered');
  await page.getByRole('radio', { name: 'A solver on the hub' }).check();
  await page.getByLabel('File of the solver').setInputFiles({
    name: 'steered.sh',
    mimeType: 'text/x-shellscript',
    buffer: Buffer.from(solver.script),
  });
  await page.getByText('Uploaded steered.sh.').waitFor();
  await page.getByRole('button', { name: 'Submit the job' }).click();

  await page.getByRole('heading', { name: 'steered', level: 1 }).waitFor();
  const id = page.url().split('/').at(-1) ?? '';
  let loads = 0;
  page.on('load', () => {
    loads += 1;
  });
  const state = page.locator('h1 + *').first();
  await expect.poll(() => state.textContent()).toBe('Pending');

  startAgent('worker-one');
  await expect.poll(() => state.textContent(), { timeout: 30_000 }).toBe('Running');
  const log = page.getByRole('region', { name: 'Lines of the log' });
  for (const line of ['first words', 'second words', 'last words']) {
    await solver.say(line);
    await log.getByText(line).waitFor();
  }
  expect((await hub.job(id)).status, 'the log is seen while the job runs').toBe('running');

  await solver.finish();
  await expect.poll(() => state.textContent(), { timeout: 30_000 }).toBe('Completed');
  await page.getByText('42').first().waitFor();
  await log.getByText('first words').waitFor();
  expect(loads, 'the page was never loaded again').toBe(0);
  await solver.remove();
});

test('a running job is cancelled', async ({ admin, hub, startAgent }) => {
  const solver = new SteeredSolver('never');
  const checksum = await hub.upload(solver.script);
  const id = await hub.enqueue({ type: 'endless', solver_checksum: checksum });
  const page = await admin.open(`/jobs/${id}`);
  startAgent('worker-two');
  await solver.say('running');
  await page.getByText('running', { exact: true }).first().waitFor();

  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: /^Cancel/ }).click();
  await expect
    .poll(() => page.locator('h1 + *').first().textContent(), { timeout: 30_000 })
    .toBe('Cancelled');
  expect(await hub.end(id)).toMatchObject({ status: 'failed', fail_reason: 'cancelled' });
  await solver.remove();
});

test('a dead job is retried, and completes', async ({ admin, hub, startAgent }) => {
  const solver = new SteeredSolver('alive');
  const checksum = await hub.upload(solver.script);
  const id = await hub.enqueue({ type: 'revived', solver_checksum: checksum, max_attempts: 1 });
  const claimed = await hub.claim('unlucky', 'revived');
  await hub.report(claimed, 'unlucky', 'fail', { reason: 'the disk was full' });

  const page = await admin.open('/dead');
  await page.getByText('the disk was full').waitFor();
  await page.getByRole('link', { name: /revived/ }).click();
  await page.getByRole('heading', { name: 'revived', level: 1 }).waitFor();
  const state = page.locator('h1 + *').first();
  await expect.poll(() => state.textContent()).toBe('Quarantined');
  await page.getByRole('button', { name: 'Retry' }).click();
  await expect.poll(() => state.textContent()).toBe('Pending');

  startAgent('worker-three');
  await solver.finish();
  await expect.poll(() => state.textContent(), { timeout: 30_000 }).toBe('Completed');
  expect(await hub.job(id)).toMatchObject({ attempt: 2, attempts: 1, result: 'alive' });
  await solver.remove();
});
