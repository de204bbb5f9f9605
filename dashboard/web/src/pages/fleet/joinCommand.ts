/** The one line that makes a computer a machine of this fleet. */

export type Shell = 'posix' | 'powershell';

export interface Joining {
  hubUrl: string;
  secret: string;
  nodeId: string;
  /** For people, where it differs from the id. */
  nodeName: string;
}

export function joinCommand(shell: Shell, { hubUrl, secret, nodeId, nodeName }: Joining): string {
  const settings: [string, string][] = [
    ['HUB_URL', hubUrl],
    ['FORGE_INGEST_SECRET', secret],
    ['NODE_ID', nodeId],
    ...(nodeName !== nodeId ? [['NODE_NAME', nodeName] as [string, string]] : []),
    ['WORKER_ENABLED', 'true'],
  ];
  if (shell === 'powershell') {
    const set = settings.map(([name, value]) => `$env:${name}='${value.replaceAll("'", "''")}'`);
    return `${set.join('; ')}; forge-agent`;
  }
  return `${settings.map(([name, value]) => `${name}=${quoted(value)}`).join(' ')} forge-agent`;
}

/** As a shell takes it for one word, whatever it contains. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

const ID_MAX = 64;

/** An id that the hub accepts, made of a name: letters, digits, `-` and `_`. */
export function idFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, ID_MAX);
}

/** Such an address means the computer it is used on, which is another one there. */
export function isLocalAddress(address: string): boolean {
  try {
    return /^(localhost$|127\.|\[::1\]$)/.test(new URL(address).hostname);
  } catch {
    return false;
  }
}
