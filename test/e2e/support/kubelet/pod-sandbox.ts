import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Image } from './image.ts';

const run = promisify(execFile);

/** The address of this machine for Pods. This network is reserved for documentation, so it conflicts with no other. */
export const hostAddress = '198.51.100.1';
const podAddress = (number: number): string => `198.51.100.${number}`;
/** The PATH that container engines set for every program. */
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** One program to be started in a sandbox. */
export interface SandboxProcess {
  readonly image: Image;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Folders of this machine, by their path for the program. */
  readonly mounts: ReadonlyMap<string, string>;
}

/**
 * The network of one Pod and the file system of its containers: an address of its own, every port of it free, and a
 * read-only file tree without files of the tests. It has no loopback: 127.x is this machine, where the tests'
 * simulators are.
 */
export class PodSandbox {
  /** The source address of its connections, and the address it is reached at. */
  readonly address: string;
  readonly #holder: ChildProcess;
  readonly #folder: string;

  private constructor(address: string, holder: ChildProcess, folder: string) {
    this.address = address;
    this.#holder = holder;
    this.#folder = folder;
  }

  /** `number`: from 2 to 254, unique. */
  static async open(number: number): Promise<PodSandbox> {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    // The end of this process removes the namespace, and with it both ends of the veth pair.
    const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready && exec cat'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const sandbox = new PodSandbox(podAddress(number), holder, folder);
    try {
      await awaitHolder(holder);
      await sandbox.#connect(`pod-${number}`);
      return sandbox;
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  /** A veth pair to this machine, on which both sides accept addresses of loopback as ordinary ones. */
  async #connect(wire: string): Promise<void> {
    const { address } = this;
    const allow = (device: string): string => `echo 1 > /proc/sys/net/ipv4/conf/${device}/route_localnet`;
    await shell([
      `ip link add ${wire} type veth peer name eth0 netns ${this.#holder.pid}`,
      allow(wire),
      `ip address add ${hostAddress} peer ${address}/32 dev ${wire}`,
      `ip link set ${wire} up`,
    ]);
    await shell(
      [
        allow('eth0'),
        `ip address add ${address} peer ${hostAddress}/32 dev eth0`,
        'ip link set eth0 up',
        `ip route add default via ${hostAddress}`,
      ],
      this.#enter,
    );
  }

  get #enter(): readonly string[] {
    return ['nsenter', '--target', `${this.#holder.pid}`, '--net'];
  }

  /** The process is the program itself: signals reach it. It ends with this process at the latest. */
  start({ image, args, environment, mounts }: SandboxProcess): ChildProcess {
    const variables = { PATH: path, ...image.environment, ...environment };
    const words = [
      ...this.#enter,
      ...['unshare', '--mount', '--propagation', 'private', 'sh', join(import.meta.dirname, 'enter-container.sh')],
      ...[this.#folder, image.folder, process.execPath],
      ...[...mounts].flatMap(([target, source]) => [source, target]),
      '--',
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      ...['setpriv', `--reuid=${image.user}`, `--regid=${image.user}`, '--clear-groups', '--no-new-privs'],
      '--pdeathsig=KILL',
      ...image.entrypoint,
      ...args,
    ];
    const [program = '', ...rest] = words;
    return spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  async close(): Promise<void> {
    if (this.#holder.exitCode === null && this.#holder.signalCode === null && this.#holder.pid !== undefined) {
      const closed = once(this.#holder, 'close');
      this.#holder.stdin?.end();
      await closed;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function awaitHolder(holder: ChildProcess): Promise<void> {
  const messages: string[] = [];
  if (holder.stderr) createInterface({ input: holder.stderr }).on('line', (line) => messages.push(line));
  const failed = new Promise<never>((_, reject) => {
    holder.once('error', reject);
    holder.once('close', () => reject(new Error(messages.join(' ') || 'unshare failed')));
  });
  failed.catch(() => {});
  if (holder.stdout) await Promise.race([once(createInterface({ input: holder.stdout }), 'line'), failed]);
}

async function shell(commands: readonly string[], enter: readonly string[] = []): Promise<void> {
  const [program = '', ...args] = [...enter, 'sh', '-c', commands.join(' && ')];
  await run(program, args, { timeout: 20_000 });
}

/** The reason why Pods cannot run here, in one sentence; undefined when they can. Tries one with this number. */
export async function missingForSandbox(number: number): Promise<string | undefined> {
  const empty = await mkdtemp(join(tmpdir(), 'image-'));
  try {
    const sandbox = await PodSandbox.open(number);
    try {
      const image = { folder: empty, entrypoint: ['node', '--version'], environment: {}, user: 65_532 };
      const child = sandbox.start({ image, args: [], environment: {}, mounts: new Map() });
      const messages: string[] = [];
      child.stderr?.on('data', (chunk: Buffer) => messages.push(chunk.toString('utf8')));
      const [code] = await once(child, 'close');
      return code === 0 ? undefined : describeMissing(messages.join(''));
    } finally {
      await sandbox.close();
    }
  } catch (error) {
    return describeMissing(error instanceof Error ? error.message : String(error));
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
}

const describeMissing = (why: string): string =>
  `Pods are played with namespaces of network and files, and this machine does not let us: ${why.trim().replace(/\s+/g, ' ')}`;
