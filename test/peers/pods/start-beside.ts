import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findPeer, missingPeers, type PeerName } from '../find-peer.ts';
import { type PeerProcess, startPeerProcess } from '../peer-process.ts';
import type { RealPods } from './real-pods.ts';

/** Starts a real program in the network of a cluster with real Pods. It ends with the cluster at the latest. */
export function startPeerBeside(
  { enter: [nsenter = '', ...flags] }: RealPods,
  name: PeerName,
  words: readonly string[],
  env?: NodeJS.ProcessEnv,
): PeerProcess {
  const path = findPeer(name);
  if (!path) throw new Error(missingPeers(name));
  return startPeerProcess({ path: nsenter, args: [...flags, path, ...words], ...(env && { env }) });
}

/** Starts a command there, and returns the first line that it prints. It ends with the cluster. */
export async function startBeside(
  { enter: [nsenter = '', ...flags] }: RealPods,
  words: readonly string[],
): Promise<string> {
  const child = spawn(nsenter, [...flags, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const signal = AbortSignal.timeout(60_000);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line', { signal })) as [string];
  return line;
}
