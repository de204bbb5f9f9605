/**
 * What tests are given: one hub and one browser per file, and people who arrive with a profile of
 * their own. A test whose pages broke in any way fails, whatever it was about.
 */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { test as base, expect, onTestFailed } from 'vitest';
import { Agent } from './agent';
import { Hub } from './hub';
import { launch, Person } from './person';

export { expect };

interface Fixtures {
  hub: Hub;
  browser: Browser;
  /** Brings somebody who is not logged in. */
  arrive: (options?: BrowserContextOptions) => Promise<Person>;
  /** Somebody who is logged in as the administrator. */
  admin: Person;
  /** Starts an agent that ends with the test. */
  startAgent: (id: string, env?: Record<string, string>) => Agent;
}

export const test = base.extend<Fixtures>({
  hub: [
    // biome-ignore lint/correctness/noEmptyPattern: the runner reads from the pattern what a fixture needs.
    async ({}, use) => {
      const hub = await Hub.start();
      await use(hub);
      await hub.remove();
    },
    { scope: 'file' },
  ],
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: as above.
    async ({}, use) => {
      const browser = await launch();
      await use(browser);
      await browser.close();
    },
    { scope: 'file' },
  ],
  arrive: async ({ browser, hub, task }, use) => {
    const people: Person[] = [];
    onTestFailed(async () => {
      for (const person of people) console.error(`See ${await person.keepEvidence(task.name)}`);
    });
    await use(async (options) => {
      const person = await Person.arrive(browser, hub, options);
      people.push(person);
      return person;
    });
    const troubles = people.flatMap((person) => person.troubles);
    for (const person of people) await person.context.close();
    expect(troubles, 'nothing odd happens on any page').toEqual([]);
  },
  admin: async ({ arrive }, use) => {
    await use(await (await arrive()).logIn());
  },
  startAgent: async ({ hub }, use) => {
    const agents: Agent[] = [];
    await use((id, env) => {
      const agent = Agent.for(hub, id, env);
      agents.push(agent);
      return agent;
    });
    for (const agent of agents) await agent.remove();
  },
});
