/** Whatever a job, a machine or a person writes is shown as text and is never part of the page. */
import type { Page } from 'playwright-core';
import { expect, test } from './fixtures';
import { furnish, PAGES, type Texts } from './world';

/** Breaks out of an attribute, an element and a script, and tells when it was taken for HTML. */
function hostile(field: string): string {
  return `${field}'"--><script>alert('${field}')</script><img src=x onerror=alert('${field}')><b class=injected>`;
}

const TEXTS: Texts = {
  type: hostile('type'),
  queue: hostile('queue').replaceAll('/', '\\'),
  tag: hostile('tag'),
  param: hostile('param'),
  result: hostile('result'),
  log: `${hostile('log')}\u001b]8;;javascript:alert('link')\u0007a link\u001b]8;;\u0007\n`,
  reason: hostile('reason'),
  errorClass: hostile('class'),
  backtrace: hostile('backtrace'),
  machineName: hostile('machine'),
  hostname: hostile('hostname'),
  tokenName: hostile('token'),
  progress: hostile('progress'),
};

test('hostile texts stay texts on every page', async ({ admin, hub }) => {
  const world = await furnish(hub, TEXTS);
  const unseen = new Set(Object.keys(TEXTS));
  for (const { name, path, shows } of PAGES) {
    const page = await admin.see(path(world), shows(TEXTS));
    const words = await page.locator('body').innerText();
    for (const [field, text] of Object.entries(TEXTS)) if (shown(words, text)) unseen.delete(field);
    expect(await foreignElements(page), name).toEqual([]);
    await page.close();
  }
  // Each of them was shown somewhere, or this would prove nothing.
  expect([...unseen]).toEqual([]);
});

test('a text that is taken for HTML is noticed', async ({ admin }) => {
  const page = await admin.see('/', 'Overview');
  await page.evaluate((text) => document.body.insertAdjacentHTML('beforeend', text), TEXTS.reason);
  expect(await foreignElements(page)).not.toEqual([]);
  // The content policy keeps its code from running, and says so.
  await expect.poll(() => admin.troubles.splice(0).join('\n')).toContain('content policy script-src');
});

/** As it is or as JSON, without what only colours a log. */
function shown(words: string, text: string): boolean {
  const visible = text.split('\u001b')[0] ?? text;
  return words.includes(visible) || words.includes(JSON.stringify(visible).slice(1, -1));
}

/** Elements that the page does not make itself. */
function foreignElements(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter(
        (element) =>
          element.matches('.injected, img[src="x"], script:not([src])') ||
          [...element.attributes].some(
            ({ name, value }) =>
              name.startsWith('on') || value.trim().toLowerCase().startsWith('javascript:'),
          ),
      )
      .map((element) => element.outerHTML),
  );
}
