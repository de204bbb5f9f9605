// Fails when what a browser loads first, compressed, is larger than the budget.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

const BUDGET_BYTES = 150 * 1024;
const dist = new URL(`${process.argv[2] ?? 'dist'}/`, `file://${process.cwd()}/`);

const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));
const files = new Set();
function collect(key) {
  const chunk = manifest[key];
  if (!chunk || files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const css of chunk.css ?? []) files.add(css);
  for (const other of chunk.imports ?? []) collect(other);
}
collect('index.html');
// The page that is opened first is part of the first load.
collect('src/pages/overview/OverviewPage.tsx');

let total = 0;
for (const file of [...files].sort()) {
  const size = gzipSync(await readFile(new URL(file, dist)), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(7)} KiB  ${file}`);
}
console.log(
  `${(total / 1024).toFixed(1).padStart(7)} KiB  first load, gzip (budget ${BUDGET_BYTES / 1024} KiB)`,
);
if (total > BUDGET_BYTES) {
  console.error('The first load is over its budget: load something later, or leave it out.');
  process.exitCode = 1;
}
