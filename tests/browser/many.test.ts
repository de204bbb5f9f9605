/** Lists that no screen can hold. */
import type { Page } from 'playwright-core';
import { expect, test } from './fixtures';

const BULK = 5_000;
const ROWS = 100_000;
/** A list may hold the rows in sight and some beside them, whatever it lists. */
const ROWS_IN_PAGE_MAX = 120;
const FLOOD_MS = 4_000;

test('five thousand dead jobs are retried by a filter', async ({ admin, hub }) => {
  await hub.enqueueMany(BULK, (index) => ({ type: 'bulky', params: { index } }));
  await hub.enqueueMany(3, () => ({ type: 'other' }));
  expect(await hub.bulk('kill', { status: 'pending' })).toBe(BULK + 3);

  const page = await admin.open('/dead?type=bulky');
  await page.getByRole('row', { name: /bulky/ }).first().waitFor();
  await page.getByRole('button', { name: 'Choose all that match' }).click();
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('5,000 jobs match').waitFor();
  await dialog.getByRole('button', { name: 'Retry 5,000' }).click();
  await page.getByText('Retried 5,000 jobs').waitFor({ timeout: 60_000 });

  // The list empties by itself, and only what matched was touched.
  await page.getByText('No job matches these filters').waitFor();
  const { jobs } = await hub.get<{ jobs: Record<string, number> }>('/api/overview');
  expect(jobs).toMatchObject({ pending: BULK, quarantined: 3 });
});

test('a flood of events does not freeze a page', async ({ admin, hub }) => {
  const page = await admin.see('/jobs', 'Jobs');
  const watched = frames(page, FLOOD_MS);
  const began = performance.now();
  let sent = 0;
  while (performance.now() - began < FLOOD_MS) {
    await hub.enqueueMany(500, (index) => ({ type: 'flood', params: { index: sent + index } }));
    sent += 500;
  }
  const rate = sent / ((performance.now() - began) / 1_000);
  tell(`${Math.round(rate)} events a second`, await watched);
  await page
    .getByRole('grid')
    .getByText(`"index":${sent - 1}`)
    .first()
    .waitFor();
});

test('a hundred thousand rows scroll', { timeout: 240_000 }, async ({ admin, hub }) => {
  await hub.enqueueMany(ROWS, (index) => ({ type: 'row', queue: 'long', params: { index } }));
  const page = await admin.open('/jobs?queue=long');
  const grid = page.getByRole('grid');
  await grid
    .getByText(`"index":${ROWS - 1}`)
    .first()
    .waitFor();
  await page.getByText('Live', { exact: true }).waitFor();

  tell('scrolling', await frames(page, 3_000, 200));

  // To the very end, page by page as a cursor gives them.
  await grid.evaluate(async (list, wanted) => {
    const oldest = () => list.textContent?.includes(wanted);
    while (!oldest()) {
      list.scrollTop = list.scrollHeight;
      await new Promise(requestAnimationFrame);
    }
  }, '"index":0}');
  expect(await page.getByRole('row').count()).toBeLessThan(ROWS_IN_PAGE_MAX);
});

test('going back from a job shows the list where it was left', async ({ admin, hub }) => {
  await hub.enqueueMany(2_000, (index) => ({ type: 'row', queue: 'long', params: { index } }));
  const page = await admin.open('/jobs?queue=long');
  const grid = page.getByRole('grid');
  await grid.getByText('"index":1999').first().waitFor();
  await grid.evaluate(async (list) => {
    while (!list.textContent?.includes('"index":700}')) {
      list.scrollTop += 300;
      await new Promise(requestAnimationFrame);
    }
  });
  const row = page.getByRole('row').filter({ hasText: '"index":700}' });
  await row.getByRole('link').first().click();
  await page.getByRole('heading', { name: 'Params' }).waitFor();
  await page.goBack();
  await row.waitFor();
  expect(await row.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0);
});

/** Printed and not judged: how long a frame takes says as much about the machine as about the page. */
function tell(what: string, took: number[]) {
  const sorted = [...took].sort((a, b) => a - b);
  const at = (share: number) =>
    `${(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(0)} ms`;
  console.info(`${what}: ${sorted.length} frames, the usual one ${at(0.5)}, the longest ${at(1)}`);
}

/** How long each frame took, for a while in which the page's list is scrolled by so much a frame. */
function frames(page: Page, ms: number, scrollBy = 0): Promise<number[]> {
  return page.evaluate(
    ({ lasting, step }) =>
      new Promise<number[]>((resolve) => {
        const list = document.querySelector('[role=grid]');
        const took: number[] = [];
        const began = performance.now();
        let last = began;
        requestAnimationFrame(function next(now) {
          if (now > last) took.push(now - last);
          last = now;
          if (list) list.scrollTop += step;
          if (now - began < lasting) requestAnimationFrame(next);
          else resolve(took);
        });
      }),
    { lasting: ms, step: scrollBy },
  );
}
