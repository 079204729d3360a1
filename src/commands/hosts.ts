import { readFile } from 'node:fs/promises';
import { Host } from '../api/host.ts';
import type { AccountContext } from '../engine/capabilities/hosts.ts';
import { ProviderError } from '../lib/errors.ts';
import { platforms } from '../platforms/index.ts';
import type { HostsSettings } from './flags/read-only-settings.ts';
import { formatHostManifests, toHostList } from './output/host-manifests.ts';
import { formatStructured } from './output/structured-output.ts';
import { type ReadOnlyCommandContext, withReadOnlySession } from './read-only/read-only-session.ts';

/**
 * Prints a Host for every server of an account that has none. Makes one call to the account's API and changes nothing.
 */
export async function runHosts(options: HostsSettings & ReadOnlyCommandContext): Promise<void> {
  const { account, url } = options;
  // Only one platform has an inventory of user-owned servers; with a second one a flag would have to select it.
  const { name, hosts: inventory } = platforms.find(({ hosts }) => hosts) ?? {};
  if (!name || !inventory) throw new ProviderError('INTERNAL', 'No platform has an inventory of servers.');
  await withReadOnlySession(options, async (at) => {
    const credentials = await at.credentials(account);
    const caBundle = options.caFile === undefined ? undefined : await readCaFile(options.caFile);
    const { items } = await at.kube.list(Host, {}, at.signal);
    const { connections, log, clock, signal } = at;
    const whose: AccountContext = {
      credentials,
      credentialsName: account,
      url,
      caBundle,
      connections,
      log,
      clock,
      signal,
    };
    const servers = await inventory.listServers(whose);
    options.print(
      options.output === 'json'
        ? formatStructured(toHostList(name, servers, items), 'json')
        : formatHostManifests(name, servers, items),
    );
  });
}

async function readCaFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ProviderError('CONFIG_INVALID', `--ca-file: ${path} cannot be read.`, { cause });
  }
}
