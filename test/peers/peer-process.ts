import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A program that runs next to the tests. It is ended by its own process id, also when the test process dies early. */
export interface PeerProcess {
  readonly pid: number;
  /** Its last lines, for an error message. */
  tail(): string;
  /** Resolves when it has ended. */
  readonly exited: Promise<void>;
  /** SIGTERM, and SIGKILL if it still runs after `graceSeconds` (5). */
  stop(graceSeconds?: number): Promise<void>;
}

export interface PeerProcessOptions {
  readonly path: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Its working directory. */
  readonly folder?: string;
  /** Number of lines of {@link PeerProcess.tail}; default 60. */
  readonly keptLines?: number;
}

export function startPeerProcess({ path, args, env, folder, keptLines = 60 }: PeerProcessOptions): PeerProcess {
  const child = spawn(path, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: env ?? process.env,
    ...(folder ? { cwd: folder } : {}),
  });
  const lines: string[] = [];
  const keep = (chunk: Buffer) => {
    lines.push(...chunk.toString('utf8').split('\n').filter(Boolean));
    lines.splice(0, Math.max(0, lines.length - keptLines));
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      lines.push(error.message);
      resolve();
    });
    child.once('exit', () => resolve());
  }).finally(() => process.removeListener('exit', killNow));
  return {
    pid: child.pid ?? 0,
    tail: () => lines.join('\n'),
    exited,
    stop: (graceSeconds = 5) => stop(child, exited, graceSeconds),
  };
}

async function stop(child: ChildProcess, exited: Promise<void>, graceSeconds: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill('SIGTERM');
  const patience = new AbortController();
  await Promise.race([
    exited,
    delay(graceSeconds * 1000, undefined, { signal: patience.signal }).catch(() => undefined),
  ]);
  patience.abort();
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await exited;
}

/** Polls until `ready` returns true. Fails with the program's last lines when the program exits or at the timeout. */
export async function awaitPeerReady(
  name: string,
  program: PeerProcess,
  seconds: number,
  ready: () => Promise<boolean>,
): Promise<void> {
  let gone = false;
  void program.exited.then(() => {
    gone = true;
  });
  const end = performance.now() + seconds * 1000;
  while (!(await ready())) {
    if (gone) throw new Error(`${name} ended before it was ready:\n${program.tail()}`);
    if (performance.now() > end) throw new Error(`${name} was not ready after ${seconds} s:\n${program.tail()}`);
    await delay(50);
  }
}

/** A port of `host` that is currently free. */
export async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error(`no port on ${host}`);
  return address.port;
}
