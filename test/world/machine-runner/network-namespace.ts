import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A network namespace with its own bridge, isolated from other networks. */
export interface NetworkNamespace {
  /** Prefix of a command that runs inside. */
  readonly enter: readonly string[];
  /** Runs a command inside and returns its output. */
  ask(command: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** The use of the namespace: machines on a bridge, or simulated nodes, which are this machine under many addresses. */
export type NamespaceUse = 'machines' | 'simulated nodes';

/**
 * Creates one, with `br0` at an address like `192.0.2.1/24`. Returns one sentence where the host does not permit it.
 */
export async function createNetworkNamespace(
  address: string,
  inhabitants: NamespaceUse,
): Promise<NetworkNamespace | string> {
  const problem = inhabitants === 'machines' ? tunProblem() : undefined;
  if (problem !== undefined) return problem;
  const isRoot = process.getuid?.() === 0;
  const set = [
    'ip link set lo up',
    'ip link add br0 type bridge',
    `ip address add ${address} dev br0`,
    'ip link set br0 up',
    // This process can listen on every address of the network.
    ...(inhabitants === 'machines' ? [] : [`ip route add local ${address.replace(/\.\d+\//, '.0/')} dev br0`]),
  ].join(' && ');
  const words = ['--net', ...(isRoot ? [] : ['--user', '--map-root-user']), 'sh', '-c', `${set} && echo ready && cat`];
  const holder = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'pipe'] });
  const output: string[] = [];
  createInterface({ input: holder.stderr }).on('line', (line) => output.push(line));
  const isReady = await Promise.race([
    once(createInterface({ input: holder.stdout }), 'line').then(() => true),
    new Promise<false>((resolve) => {
      holder.once('error', (error) => {
        output.push(error.message);
        resolve(false);
      });
      holder.once('close', () => resolve(false));
    }),
  ]);
  if (!isReady)
    return `This machine allows no network namespace with a bridge: ${output.join(' ') || 'unshare failed'}`;
  const enter = [
    'nsenter',
    '--target',
    `${holder.pid}`,
    '--net',
    ...(isRoot ? [] : ['--user', '--preserve-credentials']),
  ];
  return {
    enter,
    ask: async (command) => {
      const [program = '', ...args] = [...enter, ...command];
      return (await run(program, args, { timeout: 120_000 })).stdout;
    },
    close: () => end(holder),
  };
}

function tunProblem(): string | undefined {
  try {
    accessSync('/dev/net/tun', constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return `This machine lets us make no network devices: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function end(holder: ChildProcess): Promise<void> {
  const closed = once(holder, 'close');
  holder.stdin?.end();
  await closed;
}
