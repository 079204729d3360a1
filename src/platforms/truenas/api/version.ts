import { z } from 'zod';
import type { TrueNasClient } from './client.ts';
import type { Rpc } from './rpc.ts';

/** The version by connection: an update of the system ends the connection. */
const versions = new WeakMap<Rpc, string>();

/** E.g. `25.10.1` or `26.0.0-BETA.3`. */
export async function readTrueNasVersion(nas: TrueNasClient, signal: AbortSignal): Promise<string> {
  const { rpc } = await nas.session(signal);
  const version = versions.get(rpc) ?? (await nas.read('system.version_short', [], z.string(), { signal }));
  versions.set(rpc, version);
  return version;
}
