import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findPeer } from '../find-peer.ts';
import { createCgroup, removeCgroup } from './cgroups.ts';
import { containerdSocket } from './node-files.ts';
import { buildProductImage, type ImageArchive } from './product-image.ts';

const execute = promisify(execFile);

/** A real Kubernetes with one node, which has the product's image. */
export interface RealPods {
  readonly image: ImageArchive;
  /** Of an administrator. It is of use in the network of the cluster only. */
  readonly kubeconfig: string;
  /** Prefix of a command that runs in the network of the cluster, and ends with it at the latest. */
  readonly enter: readonly string[];
  kubectl(...words: readonly string[]): Promise<string>;
  /** With an object on its standard input. */
  apply(object: unknown): Promise<void>;
  helm(...words: readonly string[]): Promise<string>;
  /** Kills the program of a container, as the kernel does when memory is short. `id`: as in the status of its Pod. */
  kill(id: string): Promise<void>;
  /** The last lines of the node's programs, for an error message. */
  logs(): string;
  close(): Promise<void>;
}

/** Longer than anything that is waited for in one command. */
const patience = 200_000;

/** Builds the image and starts the cluster, in some forty seconds. */
export async function startRealPods(): Promise<RealPods> {
  const folder = mkdtempSync(join(tmpdir(), 'real-pods-'));
  const cgroup = `real-pods-${process.pid}`;
  let node: StartedNode | undefined;
  const close = async () => {
    await node?.end();
    await removeCgroup(cgroup);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const image = await buildProductImage(folder);
    createCgroup(cgroup);
    node = await startNode(folder, cgroup, image);
    return { image, ...node, ...commandsOf(folder, node), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface StartedNode {
  readonly kubeconfig: string;
  readonly enter: readonly string[];
  logs(): string;
  end(): Promise<void>;
}

async function startNode(folder: string, cgroup: string, { path, pause }: ImageArchive): Promise<StartedNode> {
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const script = join(import.meta.dirname, 'node-script.ts');
  const words = [
    ...['--net', '--mount', '--pid', '--uts', '--fork', '--mount-proc', '--kill-child'],
    ...[process.execPath, '--import', 'tsx', script, folder, cgroup, pause, path],
  ];
  const child = spawn('unshare', words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  });
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    lines.splice(0, lines.length - 100);
  });
  const end = async () => {
    process.removeListener('exit', killNow);
    await endOf(child);
  };
  try {
    const { kubeconfig } = JSON.parse(await firstLine(child, lines)) as { kubeconfig: string };
    const inner = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    const enter = ['nsenter', `--target=${inner}`, '--net', '--mount', '--pid'];
    return { kubeconfig, enter, logs: () => lines.join('\n'), end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function firstLine(child: ChildProcess, lines: readonly string[]): Promise<string> {
  if (!child.stdout) throw new Error('the node has no output');
  const output = createInterface({ input: child.stdout });
  const signal = AbortSignal.timeout(patience);
  const ended = once(child, 'close', { signal }).then(() => {
    throw new Error(`The node did not start:\n${lines.join('\n')}`);
  });
  const [line] = (await Promise.race([once(output, 'line', { signal }), ended])) as [string];
  ended.catch(() => undefined);
  return line;
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

function commandsOf(folder: string, { enter, kubeconfig }: StartedNode) {
  const [nsenter = '', ...flags] = enter;
  const inside = async (program: string, words: readonly string[]): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    return (await execute(nsenter, [...flags, program, ...words], { env, timeout: patience })).stdout;
  };
  const kubectl = (...words: readonly string[]) => inside(findPeer('kubectl') ?? 'kubectl', words);
  return {
    kubectl,
    apply: async (object: unknown) => {
      const script = `printf %s "$1" | "$2" apply --server-side --force-conflicts -f -`;
      await inside('sh', ['-ec', script, 'sh', JSON.stringify(object), findPeer('kubectl') ?? 'kubectl']);
    },
    helm: (...words: readonly string[]) => inside(findPeer('helm') ?? 'helm', words),
    kill: async (id: string) => {
      const words = [
        `--address=${containerdSocket(folder)}`,
        '--namespace=k8s.io',
        'tasks',
        'kill',
        '--signal=SIGKILL',
      ];
      await inside('ctr', [...words, id.replace(/^containerd:\/\//, '')]);
    },
  };
}
