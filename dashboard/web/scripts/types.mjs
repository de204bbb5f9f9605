// Generates the API's types, and the table of who may call what, from the hub's OpenAPI document.
// With --check nothing is written: it fails when the committed files are not what would be written.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const source = new URL('../../../docs/openapi.json', import.meta.url);
const folder = new URL('../src/api/', import.meta.url);
const HEADER = '// Generated from docs/openapi.json by `npm run types`. Do not edit.\n\n';
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

const document = JSON.parse(await readFile(source, 'utf8'));

function scopesTable() {
  const lines = [];
  for (const operations of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (!operation) continue;
      const scopes = (operation.security ?? []).flatMap((requirement) => requirement.token ?? []);
      const open = (operation.security ?? []).some((requirement) => Object.keys(requirement).length === 0);
      const list = open ? ['producer', 'worker', 'viewer'] : scopes;
      const quoted = [...new Set([...list, 'admin'])].map((scope) => `'${scope}'`).join(', ');
      lines.push(`  ${operation.operationId}: [${quoted}],`);
    }
  }
  return (
    `${HEADER}/** The scopes whose tokens may call each operation. */\n` +
    `export const scopes = {\n${lines.sort().join('\n')}\n} as const;\n\n` +
    'export type Operation = keyof typeof scopes;\n'
  );
}

const wanted = {
  'schema.d.ts': HEADER + astToString(await openapiTS(document)),
  'scopes.ts': scopesTable(),
};

for (const [name, text] of Object.entries(wanted)) {
  const file = new URL(name, folder);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
    continue;
  }
  const found = await readFile(file, 'utf8').catch(() => '');
  if (found !== text) {
    console.error(`src/api/${name} is not what docs/openapi.json says. Run \`npm run types\` and commit it.`);
    process.exitCode = 1;
  }
}
