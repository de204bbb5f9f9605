import { describe, expect, it } from 'vitest';
import { idFrom, isLocalAddress, joinCommand } from './joinCommand';

const joining = { hubUrl: 'https://hub.example.com', secret: 'fq_a1', nodeId: 'rack-3', nodeName: 'rack-3' };

describe('the line to paste', () => {
  it('is the one of the README', () => {
    expect(joinCommand('posix', joining)).toBe(
      'HUB_URL=https://hub.example.com FORGE_INGEST_SECRET=fq_a1 NODE_ID=rack-3 WORKER_ENABLED=true forge-agent',
    );
  });
  it('has the agent fetched where the hub offers it', () => {
    expect(
      joinCommand('installer', { ...joining, hubUrl: 'https://hub.example.com/', nodeName: 'Rack 3' }),
    ).toBe(
      'echo fq_a1 | sudo sh -c "$(curl -fsSL https://hub.example.com/install.sh)" install.sh --hub https://hub.example.com ' +
        "--id rack-3 --name 'Rack 3' --token-file -",
    );
    expect(joinCommand('installer', joining)).not.toContain('--name');
  });
  it('keeps a name one word, whatever it contains', () => {
    const nodeName = "Rack 3; rm -rf '$HOME'";
    expect(joinCommand('posix', { ...joining, nodeName })).toContain(
      `NODE_NAME='Rack 3; rm -rf '\\''$HOME'\\''' WORKER`,
    );
    expect(joinCommand('powershell', { ...joining, nodeName })).toContain(
      `$env:NODE_NAME='Rack 3; rm -rf ''$HOME'''; $env:WORKER_ENABLED='true'; forge-agent`,
    );
  });
});

describe('an id', () => {
  it('is made of any name', () => {
    expect(idFrom('  Rack №3 / Büro ')).toBe('rack-no3-buro');
    expect(idFrom('日本')).toBe('');
    expect(idFrom('x'.repeat(80))).toHaveLength(64);
  });
});

describe('an address', () => {
  it('of this computer only is known', () => {
    expect(
      ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'].every(isLocalAddress),
    ).toBe(true);
    expect(['https://hub.example.com', 'http://localhost.example.com', 'nonsense'].some(isLocalAddress)).toBe(
      false,
    );
  });
});
