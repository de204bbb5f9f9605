/** The one line that makes a computer a machine of this fleet. */

/** `installer` fetches the agent from the hub; the others start one that is there. */
export type Shell = 'installer' | 'posix' | 'powershell';

export interface Joining {
  hubUrl: string;
  secret: string;
  nodeId: string;
  /** For people, where it differs from the id. */
  nodeName: string;
}

export function joinCommand(shell: Shell, joining: Joining): string {
  const { hubUrl, secret, nodeId, nodeName } = joining;
  if (shell === 'installer') return installLine(joining);
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

/** The token goes through a pipe: everybody on a machine can see the arguments of a program. */
function installLine({ hubUrl, secret, nodeId, nodeName }: Joining): string {
  const hub = hubUrl.replace(/\/+$/, '');
  const name = nodeName === nodeId ? '' : ` --name ${quoted(nodeName)}`;
  const script = `sh -c "$(curl -fsSL ${quoted(`${hub}/install.sh`)})" install.sh`;
  return `echo ${quoted(secret)} | sudo ${script} --hub ${quoted(hub)} --id ${quoted(nodeId)}${name} --token-file -`;
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
