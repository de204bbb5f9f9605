/** The real agent as a child process, and solvers that a test steers. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Hub, SECRET } from './hub';
import { BINARIES, binary, Program } from './processes';

export class Agent {
  readonly folder = mkdtempSync(join(tmpdir(), 'forge-browser-agent-'));
  readonly #program: Program;

  private constructor(command: readonly string[], env: Record<string, string>) {
    this.#program = new Program(command, env, this.folder, join(this.folder, 'agent.log'));
  }

  /** By a line for a shell, in which `NAME=value` settings stand before the agent's name. */
  static fromLine(line: string): Agent {
    return new Agent(['/bin/sh', '-c', `exec env ${line}`], { PATH: `${BINARIES}:${process.env.PATH}` });
  }

  /** A worker for this hub with the administrator's token. */
  static for(hub: Hub, id: string, env: Record<string, string> = {}): Agent {
    return new Agent([binary('forge-agent')], {
      HUB_URL: hub.url,
      NODE_ID: id,
      FORGE_INGEST_SECRET: SECRET,
      WORKER_ENABLED: 'true',
      PUSH_INTERVAL_MS: '1000',
      ...env,
    });
  }

  get log(): string {
    return this.#program.log;
  }

  async remove(): Promise<void> {
    await this.#program.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * A solver that prints to its log what the test says, when the test says it, and ends with a result
 * when the test is done. Both ends wait for each other at a named pipe, so no test has to guess
 * how long anything takes.
 */
export class SteeredSolver {
  readonly #folder = mkdtempSync(join(tmpdir(), 'forge-browser-solver-'));
  readonly #pipe = join(this.#folder, 'pipe');
  #open: FileHandle | null = null;
  readonly script: string;

  constructor(result: unknown) {
    execFileSync('mkfifo', [this.#pipe]);
    this.script = [
      '#!/bin/sh',
      'cat >/dev/null',
      `exec 3<'${this.#pipe}'`,
      `while read -r line <&3; do echo "$line" >&2; done`,
      `echo '${JSON.stringify(result)}'`,
      '',
    ].join('\n');
  }

  /** Waits until the solver runs, then has it print a line. */
  async say(line: string): Promise<void> {
    this.#open ??= await open(this.#pipe, 'w');
    await this.#open.write(`${line}\n`);
  }

  /** Lets it end with its result. */
  async finish(): Promise<void> {
    this.#open ??= await open(this.#pipe, 'w');
    await this.#open.close();
    this.#open = null;
  }

  async remove(): Promise<void> {
    await this.#open?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
