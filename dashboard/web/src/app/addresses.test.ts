import { describe, expect, it } from 'vitest';
import { newAddress, pageAt } from './addresses';
import { pages } from './pages';

describe('old addresses', () => {
  it.each([
    ['/job-queues', '', '', '/queues'],
    ['/job-queues/', '', '', '/queues'],
    ['/job-queues/mail', '', '', '/jobs?queue=mail'],
    ['/job-queues/a%2Fb', '', '', '/jobs?queue=a%2Fb'],
    ['/job-queues/a/b', '?status=failed', '', '/jobs?queue=a%2Fb&status=failed'],
    ['/scheduled-jobs', '', '', '/scheduled'],
    ['/dead-jobs', '?q=x', '', '/dead?q=x'],
    ['/job-metrics', '', '', '/'],
    ['/worker-processes', '', '', '/fleet'],
    ['/', '', '#/jobs', '/jobs'],
    ['/', '', '#/jobs?status=failed', '/jobs?status=failed'],
    ['/', '', '#/dead-jobs', '/dead'],
  ])('%s%s%s leads on', (path, search, hash, target) => {
    expect(newAddress(path, search, hash)).toBe(target);
  });

  it.each(['/', '/jobs', '/retries', '/fleet/anvil', '/unknown'])('%s stays', (path) => {
    expect(newAddress(path, '?q=1', '')).toBeNull();
  });

  it('a link with a token is left to the login', () => expect(newAddress('/', '', '#token=abc')).toBeNull());

  it('lead to pages that exist', () => {
    const paths = new Set(pages.map((page) => page.path));
    for (const page of pages) {
      for (const target of Object.values(page.old ?? {})) expect(paths).toContain(target.split('?')[0]);
    }
  });
});

describe('the table of pages', () => {
  it('has each path and each key once', () => {
    for (const values of [pages.map((page) => page.path), pages.flatMap((page) => page.key ?? [])]) {
      expect(new Set(values).size).toBe(values.length);
    }
  });
});

it.each([
  ['/', 'Overview'],
  ['/fleet/add', 'Add a machine'],
  ['/fleet/anvil', 'Machine'],
  ['/jobs/new', 'New job'],
  ['/jobs/a-1', 'Job'],
  ['/nowhere', undefined],
])('the code that is fetched ahead for %s is that of its page', (path, title) => {
  expect(pageAt(path)?.title).toBe(title);
});
