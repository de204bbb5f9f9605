/** Pictures of every page for the documentation. Not a test: `make screenshots` takes them anew. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect, test } from './fixtures';
import type { Hub } from './hub';
import { loaded, Person } from './person';
import { REPOSITORY } from './processes';
import { openStudio } from './studio';

const FOLDER = join(REPOSITORY, 'docs', 'screenshots');
const FOLDER_BYTES_MAX = 2 * 1024 * 1024;
const QUALITY = 72;

interface Picture {
  name: string;
  path: string;
  /** Words that show that the page has read its data. */
  shows: string;
}

test('pictures of every page', { timeout: 600_000 }, async ({ browser, hub }) => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const studio = await openStudio(hub);
  const stop = studio.keepAlive();
  // A hub that has just started cannot know yet that a machine is gone.
  const state = async () => {
    const fleet = await hub.get<{ id: string; status: string }[]>('/api/fleet');
    return fleet.find(({ id }) => id === studio.gone)?.status;
  };
  await expect.poll(state, { timeout: 90_000, interval: 1_000 }).toBe('offline');
  const pictures: Picture[] = [
    { name: 'overview', path: '/', shows: 'research' },
    { name: 'fleet', path: '/fleet', shows: 'Atlas' },
    { name: 'machine', path: `/fleet/${studio.machine}`, shows: 'Load' },
    { name: 'add-machine', path: '/fleet/add', shows: 'Make its token' },
    { name: 'jobs', path: '/jobs', shows: 'render-frame' },
    { name: 'new-job', path: '/jobs/new', shows: 'Submit the job' },
    { name: 'job', path: `/jobs/${studio.running}`, shows: 'of 64' },
    { name: 'job-completed', path: `/jobs/${studio.completed}`, shows: 'Completed' },
    { name: 'job-dead', path: `/jobs/${studio.dead}`, shows: 'Quarantined' },
    { name: 'queues', path: '/queues', shows: 'delivery' },
    { name: 'scheduled', path: '/scheduled', shows: 'render-frame' },
    { name: 'retries', path: '/retries', shows: 'MemoryError' },
    { name: 'dead', path: '/dead', shows: 'exit code' },
    { name: 'settings', path: '/settings', shows: 'Solvers' },
    { name: 'settings-hub', path: '/settings?tab=hub', shows: 'Limits' },
    { name: 'settings-tokens', path: '/settings?tab=tokens', shows: 'Wall display' },
  ];
  try {
    await take(browser, hub, { width: 1440, height: 900 }, '', pictures);
    await take(browser, hub, { width: 390, height: 844 }, '-phone', pictures);
  } finally {
    stop();
  }
  const bytes = readdirSync(FOLDER).reduce((sum, file) => sum + statSync(join(FOLDER, file)).size, 0);
  expect(bytes).toBeLessThan(FOLDER_BYTES_MAX);
});

async function take(
  browser: Browser,
  hub: Hub,
  viewport: { width: number; height: number },
  suffix: string,
  pictures: Picture[],
): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    const person = await Person.arrive(browser, hub, { viewport, colorScheme });
    await person.logIn();
    for (const { name, path, shows } of pictures) {
      const page = await person.open(path);
      await page.getByText(shows).filter({ visible: true }).first().waitFor();
      await loaded(page);
      // Asked of the browser itself, which knows a smaller format than playwright does.
      const browserSide = await person.context.newCDPSession(page);
      const picture = { format: 'webp', quality: QUALITY } as const;
      const { data } = await browserSide.send('Page.captureScreenshot', picture);
      writeFileSync(join(FOLDER, `${name}${suffix}-${colorScheme}.webp`), Buffer.from(data, 'base64'));
      await page.close();
    }
    await person.context.close();
  }
}
