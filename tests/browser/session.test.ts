/** Coming in, and which addresses lead where. */

import { expect, test } from './fixtures';
import { SECRET } from './hub';

test('the form lets in who has a token, and out again', async ({ arrive }) => {
  const page = await (await arrive()).open('/');
  await page.getByLabel('Token').fill(SECRET);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();

  await page.reload();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Token').waitFor();
  await page.reload();
  await page.getByLabel('Token').waitFor();
});

test('a wrong token is refused in words', async ({ arrive }) => {
  const page = await (await arrive()).open('/');
  await page.getByLabel('Token').fill('not-a-token');
  await page.getByRole('button', { name: 'Log in' }).click();
  const error = page.getByRole('alert');
  await error.waitFor();
  expect(await error.textContent()).toMatch(/token/i);
  expect(await page.getByLabel('Token').getAttribute('aria-invalid')).toBe('true');
});

test('a link logs in, and the token is gone from the address', async ({ arrive }) => {
  const person = await arrive();
  const page = await person.open(`/#token=${SECRET}`);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  expect(page.url()).not.toContain(SECRET);

  const stranger = await (await arrive()).open('/jobs#token=wrong');
  await stranger.getByRole('alert').waitFor();
  expect(stranger.url()).not.toContain('wrong');
});

test('a page that was asked for is shown after logging in', async ({ arrive }) => {
  const page = await (await arrive()).open('/queues');
  await page.getByLabel('Token').fill(SECRET);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
});

const OLD_ADDRESSES = {
  '/#/jobs': ['/jobs', 'Jobs'],
  '/#/jobs?status=failed': ['/jobs?status=failed', 'Jobs'],
  '/job-queues': ['/queues', 'Queues'],
  '/job-queues/mail': ['/jobs?queue=mail', 'Jobs'],
  '/job-queues/shop/mail': ['/jobs?queue=shop%2Fmail', 'Jobs'],
  '/scheduled-jobs': ['/scheduled', 'Scheduled'],
  '/retries': ['/retries', 'Retries'],
  '/dead-jobs': ['/dead', 'Dead'],
  '/job-metrics': ['/', 'Overview'],
  '/worker-processes': ['/fleet', 'Fleet'],
} as const;

test('old addresses lead to the right pages', async ({ admin, hub }) => {
  for (const [old, [address, title]] of Object.entries(OLD_ADDRESSES)) {
    const page = await admin.open(old);
    await page.getByRole('heading', { name: title, level: 1, exact: true }).waitFor();
    expect(page.url(), old).toBe(hub.url + address);
    await page.close();
  }
});
