/** Somebody in front of a browser: pages of one profile, and everything odd that happened on them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { type Hub, SECRET } from './hub';

/** How long a page may take to show what has happened, on a busy machine. */
export const SOON_MS = 20_000;

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      // Its sandbox does not work for root, which is who runs tests in a container.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-dev-shm-usage',
    ],
  });
}

function findChromium(): string {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  } catch {
    throw new Error('chromium is missing: install the Debian package `chromium`, or let `make tools` do it.');
  }
}

/** Waits until a page reads nothing any more for the first time. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForFunction(
    () => !document.querySelector('[aria-label=Loading]') && !document.body.innerText.includes('Reading…'),
  );
}

export class Person {
  readonly #hub: Hub;
  readonly context: BrowserContext;
  /** Errors in the console, broken content policies, uncaught exceptions, dialogs. */
  readonly troubles: string[] = [];
  readonly #console: string[] = [];

  private constructor(hub: Hub, context: BrowserContext) {
    this.#hub = hub;
    this.context = context;
    context.setDefaultTimeout(SOON_MS);
    context.on('page', (page) => this.#listenTo(page));
  }

  static async arrive(browser: Browser, hub: Hub, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      baseURL: hub.url,
      ...options,
    });
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(
          `content policy ${event.violatedDirective} broken by ${event.blockedURI || 'the page'}`,
        );
      });
    });
    return new Person(hub, context);
  }

  /** Gets a session without the form, which has tests of its own. */
  async logIn(token = SECRET): Promise<this> {
    const headers = { origin: this.#hub.url };
    const answer = await this.context.request.post('/api/session', { data: { token }, headers });
    if (!answer.ok()) throw new Error(`logging in: ${answer.status()} ${await answer.text()}`);
    return this;
  }

  async open(path: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(path);
    return page;
  }

  /** Opens a page and waits until it has these words, is live, and loads nothing any more. */
  async see(path: string, words: string): Promise<Page> {
    const page = await this.open(path);
    await page.getByText(words).first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await loaded(page);
    return page;
  }

  #listenTo(page: Page): void {
    page.on('console', (message) => {
      const line = `${message.type()}: ${message.text()} (${message.location().url})`;
      this.#console.push(line);
      // The browser itself reports every answer that is no success; pages tell people about those.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) this.troubles.push(line);
    });
    page.on('pageerror', (error) => this.troubles.push(`uncaught: ${error.stack ?? error.message}`));
    page.on('dialog', (dialog) => {
      this.troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** Keeps what a person needs to see why a test failed, and answers where. */
  async keepEvidence(name: string): Promise<string> {
    const parent = join(tmpdir(), 'forge-browser-failures');
    mkdirSync(parent, { recursive: true });
    const folder = mkdtempSync(join(parent, `${name.replace(/\W+/g, '-').slice(0, 60)}-`));
    for (const [index, page] of this.context.pages().entries()) {
      await page.screenshot({ path: join(folder, `page-${index + 1}.png`) }).catch(() => undefined);
    }
    writeFileSync(join(folder, 'console.log'), `${this.#console.join('\n')}\n`);
    writeFileSync(join(folder, 'hub.log'), this.#hub.log);
    return folder;
  }
}
