import { z } from 'zod';
import type { TrueNas } from './client.ts';
import type { Rpc } from './rpc.ts';

/** By connection: an update ends it. */
const known = new WeakMap<Rpc, string>();

/** E.g. `25.10.1` or `26.0.0-BETA.3`. */
export async function versionOf(nas: TrueNas, signal: AbortSignal): Promise<string> {
  const { rpc } = await nas.session(signal);
  const version = known.get(rpc) ?? (await nas.read('system.version_short', [], z.string(), { signal }));
  known.set(rpc, version);
  return version;
}
