/** What people see who may only watch, or who use the page in another way than most. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test as withHub } from './fixtures';
import { furnish, PAGES, PLAIN, type World } from './world';

const ACTING =
  /^(retry|cancel|kill|delete|run now|change priority|clone|drain|resume|forget|revoke|end|upload|make|new job|add|choose)\b/i;

const SCREENS = [
  { name: 'desktop', width: 1440, height: 900 },
  { name: 'phone', width: 390, height: 844 },
];

const test = withHub.extend<{ world: World }>({
  world: [async ({ hub }, use) => use(await furnish(hub)), { scope: 'file' }],
});

test('who may only watch sees no button that acts', async ({ arrive, hub, world }) => {
  const viewer = await (await arrive()).logIn(await hub.token('viewer'));
  for (const { name, path, shows, toViewers } of PAGES) {
    const page = await viewer.see(path(world), toViewers ?? shows(PLAIN));
    expect(await actingControls(page), name).toEqual([]);
    await page.close();
  }
});

test('who may do everything sees buttons that act', async ({ admin, world }) => {
  for (const path of ['/fleet', '/jobs', `/jobs/${world.jobs.dead}`, `/fleet/${world.machine}`]) {
    const page = await admin.see(path, 'Fleet');
    expect(await actingControls(page), path).not.toEqual([]);
    await page.close();
  }
});

test('everybody can use the login page', async ({ arrive }) => {
  const page = await (await arrive()).open('/');
  await page.getByLabel('Token').waitFor();
  expect(await findings(page)).toEqual([]);
});

test('the keyboard leads everywhere', async ({ admin, world }) => {
  const page = await admin.see(`/jobs/${world.jobs.completed}`, PLAIN.type);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('dead');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Dead', level: 1 }).waitFor();

  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  await page.getByRole('grid').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.getByText('1 job chosen').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: PLAIN.type, level: 1 }).waitFor();

  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Go to anything').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
});

for (const { name: subject, path, shows } of PAGES) {
  test(`everybody can use ${subject}, in both themes, on a desk and on a phone`, async ({ admin, world }) => {
    const page = await admin.see(path(world), shows(PLAIN));
    const found: string[] = [];
    for (const { name, width, height } of SCREENS) {
      await page.setViewportSize({ width, height });
      for (const theme of ['dark', 'light'] as const) {
        await page.evaluate((chosen) => {
          document.documentElement.dataset.theme = chosen;
        }, theme);
        for (const finding of await findings(page)) found.push(`${name}, ${theme}: ${finding}`);
      }
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (beyond > 0) found.push(`${name}: reaches ${beyond} px beyond the screen`);
    }
    expect(found).toEqual([]);
  });
}

/** The names of what would do something, other than show something. */
async function actingControls(page: Page): Promise<string[]> {
  const controls = page.locator('main').locator('button, a[href], input[type=file]');
  const names = await controls.evaluateAll((all) =>
    all.map((one) => one.getAttribute('aria-label') ?? one.textContent?.trim() ?? ''),
  );
  return names.filter((name) => ACTING.test(name));
}

/** What axe holds to be serious or worse. */
async function findings(page: Page): Promise<string[]> {
  // Not by a script element, which the page's content policy forbids.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id} (${help}): ${html}`));
}
