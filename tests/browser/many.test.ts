/** Lists that no screen can hold. */
import type { Page } from 'playwright-core';
import { expect, test } from './fixtures';

const BULK = 5_000;
const ROWS = 100_000;
/** A list may hold the rows in sight and some beside them, whatever it lists. */
const ROWS_IN_PAGE_MAX = 120;
/** Beside a hub built without optimisation, on two cores; a frame that takes longer is seen as a jerk. */
const FRAME_MAX_MS = 250;
const FRAME_USUAL_MAX_MS = 50;

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

test('a hundred thousand rows scroll', async ({ admin, hub }) => {
  await hub.enqueueMany(ROWS, (index) => ({ type: 'row', queue: 'long', params: { index } }));
  const page = await admin.open('/jobs?queue=long');
  const grid = page.getByRole('grid');
  await grid
    .getByText(`"index":${ROWS - 1}`)
    .first()
    .waitFor();
  await page.getByText('Live', { exact: true }).waitFor();

  const frames = await scroll(page, 3_000);
  frames.sort((a, b) => a - b);
  const usual = frames[Math.floor(frames.length / 2)] ?? Number.POSITIVE_INFINITY;
  const worst = frames.at(-1) ?? Number.POSITIVE_INFINITY;
  expect(usual, `${frames.length} frames`).toBeLessThan(FRAME_USUAL_MAX_MS);
  expect(worst, `${frames.length} frames`).toBeLessThan(FRAME_MAX_MS);

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

/** Scrolls the list down and answers how long each frame took. */
function scroll(page: Page, ms: number): Promise<number[]> {
  return page.getByRole('grid').evaluate(
    (list, lasting) =>
      new Promise<number[]>((resolve) => {
        const frames: number[] = [];
        const began = performance.now();
        let last = began;
        requestAnimationFrame(function step(now) {
          if (now > last) frames.push(now - last);
          last = now;
          list.scrollTop += 200;
          if (now - began < lasting) requestAnimationFrame(step);
          else resolve(frames);
        });
      }),
    ms,
  );
}
