import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';

export interface ProviderProgramOptions {
  /** Default: the build of this tree. */
  readonly main?: string;
  /** The numeric user id of the process; only root may set it. Default: the current user. */
  readonly user?: number;
  /** The factor by which it waits shorter than in production. Default: 1. */
  readonly speed?: number;
  /** Whether it is started again, as a Pod would be, when it loses its Lease because the machine is too busy. */
  readonly isRevived?: boolean;
}

/** The shipped program, started like in production: the built file, flags, and an environment. Only `speed` differs. */
export class ProviderProgram {
  readonly #spawn: () => ChildProcess;
  readonly #logFile: string;
  #child: ChildProcess;
  #isStopping = false;
  #isOver = false;
  readonly exited: Promise<number>;

  constructor(
    words: readonly string[],
    environment: Record<string, string>,
    logFile: string,
    { main = 'dist/main.js', user, speed = 1, isRevived = false }: ProviderProgramOptions = {},
  ) {
    this.#logFile = logFile;
    const log = createWriteStream(logFile, { flags: 'a' });
    const preload = speed === 1 ? [] : ['--import', './test/support/accelerate-time.mjs'];
    const { PATH = '', HOME = '' } = process.env;
    this.#spawn = () => {
      const child = spawn(process.execPath, [...preload, main, ...words], {
        ...(user === undefined ? {} : { uid: user, gid: user }),
        env: { PATH, HOME, HURRY: String(speed), ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.pipe(log, { end: false });
      child.stderr.pipe(log, { end: false });
      return child;
    };
    this.#child = this.#spawn();
    this.exited = this.#awaitEnd(isRevived).finally(() => {
      this.#isOver = true;
      log.end();
    });
  }

  async #awaitEnd(isRevived: boolean): Promise<number> {
    for (;;) {
      const code = await exitCodeOf(this.#child);
      const hasLostLease = code !== 0 && isRevived && (await this.tail(20)).includes('leadership is lost');
      if (!hasLostLease || this.#isStopping) return code;
      this.#child = this.#spawn();
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return !this.#isOver;
  }

  /** Terminates the process, and kills it after the grace period. Resolves with the exit code. */
  async stop(graceMs = 15_000): Promise<number> {
    if (!this.isRunning) return await this.exited;
    this.#isStopping = true;
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
    try {
      return await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The last lines of its log. */
  async tail(lines = 15): Promise<string> {
    const text = await readFile(this.#logFile, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }
}

const exitCodeOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? (signal ? 128 : 1)));
    child.once('error', () => resolve(127));
  });
