import type { Host } from '../../api/host.ts';
import type { HostContext } from '../../engine/host.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { Secrets } from '../../lib/secret.ts';
import { clusterOf, factOf } from '../cluster/view.ts';
import { findCredentials } from '../credentials.ts';
import type { Services } from '../services.ts';
import { statusOf, toView } from './standing.ts';
import type { HostSight, Identity, Keeper } from './view.ts';

/** What comes with one reconcile. */
export interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Who asks the provider of a server for what. */
export interface Asker {
  readonly keeper: Keeper;
  readonly credentials: Secrets;
}

/** Whom to ask through, or in a sentence why nobody can be asked. */
export function findAsker(services: Services, keeper: Keeper): Asker | { readonly missing: string } {
  const found = findCredentials(services, keeper.platform, keeper.section);
  return 'missing' in found ? found : { keeper, credentials: found.secrets };
}

/** What questions and steps about a Host work with. Throws where its spec is not valid. */
export function contextOf(
  services: Services,
  { keeper, credentials }: Asker,
  host: Host,
  { signal, log }: Context,
): Omit<HostContext, 'facts' | 'note'> {
  const { installation, provider, connections, clock } = services;
  const view = toView(host);
  if (!view) throw new ProviderError('CONFIG_INVALID', `The spec of Host ${host.metadata.name} is not valid.`);
  return {
    config: keeper.section,
    owner: { installation, provider, machine: statusOf(host).machineRef?.name ?? '' },
    ...{ credentials, connections, log, clock, signal },
    host: view,
    servers: () => services.hosts.servers(),
    bootId: () => askBootId(services, host, signal),
  };
}

/** The machine's own word for it. */
async function askBootId(services: Services, host: Host, signal: AbortSignal): Promise<string | undefined> {
  const { machineRef } = statusOf(host);
  const named = machineRef && services.stores.machines.get({ name: machineRef.name });
  const machine = named?.metadata.uid === machineRef?.uid ? named : undefined;
  const address = machine && factOf(machine, 'address');
  if (!machine || address === undefined) return undefined;
  const node = services.targets.talos(clusterOf(machine), address);
  try {
    return await node.bootId({ signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug') return undefined;
    throw error;
  } finally {
    await node.close();
  }
}

/** Asks the provider of the server whether it is the one that is meant. */
export async function identify(services: Services, sight: HostSight, keeper: Keeper, run: Context): Promise<Identity> {
  const asker = findAsker(services, keeper);
  if ('missing' in asker) return { unasked: asker.missing, reason: 'CredentialsMissing' };
  try {
    const context = contextOf(services, asker, sight.host, run);
    return await keeper.inventory.identify({ ...context, facts: {}, note: async () => {} });
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const reason = error.retry === 'after-change' ? 'PlatformRefused' : 'PlatformUnreachable';
    return { unasked: error.message, reason };
  }
}
