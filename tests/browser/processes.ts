/** Programs that a test starts. Whatever happens to the test, they end with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const running = new Set<ChildProcess>();
// Also when the runner gives up on a test: nothing may be left on the machine.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export const REPOSITORY = join(import.meta.dirname, '..', '..');
export const BINARIES = process.env.FORGE_BIN_DIR || join(REPOSITORY, 'target', 'debug');

export function binary(name: 'forge-hub' | 'forge-agent'): string {
  const path = join(BINARIES, name);
  if (existsSync(path)) return path;
  throw new Error(
    `${path} is missing. Run \`cargo build -p forge-hub -p forge-agent\`, or name a folder that has both in FORGE_BIN_DIR.`,
  );
}

export class Program {
  readonly #child: ChildProcess;
  readonly #logPath: string;
  readonly ended: Promise<void>;
  #hasEnded = false;

  /** What it prints is added to the file `logPath`. */
  constructor(command: readonly string[], env: Record<string, string>, cwd: string, logPath: string) {
    this.#logPath = logPath;
    const log = openSync(logPath, 'a');
    const [path = '', ...words] = command;
    const child = spawn(path, words, {
      cwd,
      env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    running.add(child);
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = () => {
        running.delete(child);
        this.#hasEnded = true;
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get log(): string {
    return readFileSync(this.#logPath, 'utf8');
  }

  /** No goodbye, nothing flushed. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** Lets it finish what it must. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }
}
