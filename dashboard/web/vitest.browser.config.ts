/**
 * Real-browser tests. They live with the other tests that drive the real programs, in
 * `tests/browser`, and use the packages of this folder.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const { resolve } = createRequire(import.meta.url);

export default defineConfig(({ mode }) => ({
  root: join(import.meta.dirname, '../../tests/browser'),
  cacheDir: join(import.meta.dirname, 'node_modules/.vite-browser'),
  resolve: {
    alias: Object.fromEntries(['axe-core', 'playwright-core'].map((name) => [name, resolve(name)])),
  },
  test: {
    include: [mode === 'screenshots' ? 'screenshots.ts' : '*.test.ts'],
    environment: 'node',
    // Hubs, agents and browsers: two of each keep a small machine busy.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    reporters: ['verbose'],
  },
}));
