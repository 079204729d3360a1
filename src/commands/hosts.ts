import { readFile } from 'node:fs/promises';
import { Host } from '../api/host.ts';
import type { Account } from '../engine/host.ts';
import { ProviderError } from '../lib/errors.ts';
import { platforms } from '../platforms/index.ts';
import { describeHosts } from './host-documents.ts';
import type { HostsSettings } from './look-flags.ts';
import { type LookEdges, looking } from './looking.ts';

/** Prints a Host for every server of an account that has none. One call to whose servers they are, and nothing is changed. */
export async function hosts(options: HostsSettings & LookEdges): Promise<void> {
  const { account, url } = options;
  // One platform has servers that are people's own; with a second one a flag would have to say which.
  const inventory = platforms.find((platform) => platform.inventory)?.inventory;
  if (!inventory) throw new ProviderError('INTERNAL', 'No platform has servers to list.');
  await looking(options, async (at) => {
    const credentials = await at.credentials(account);
    const caBundle = options.caFile === undefined ? undefined : await readAuthorities(options.caFile);
    const { items } = await at.kube.list(Host, {}, at.signal);
    const { connections, log, clock, signal } = at;
    const whose: Account = { credentials, credentialsName: account, url, caBundle, connections, log, clock, signal };
    options.print(describeHosts(await inventory.survey(whose), items));
  });
}

async function readAuthorities(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ProviderError('CONFIG_INVALID', `--ca-file: ${path} cannot be read.`, { cause });
  }
}
