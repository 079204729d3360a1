import type { Host } from '../../api/host.ts';
import type { HostContext } from '../../engine/capabilities/hosts.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';
import { clusterOfMachine } from '../cluster/view.ts';
import { readMachineFact } from '../shared/machine-facts.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { describeInvalidSpec, hostStatusOf, toHostView } from './availability.ts';
import type { HostIdentification, HostSnapshot, ManagingConfig } from './view.ts';

/** The signal and the logger of one reconcile. */
export interface HostReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** The ProviderConfig and the credentials for requests about a server. */
export interface InventoryAccess {
  readonly providerConfig: ManagingConfig;
  readonly credentials: SecretStrings;
}

/** The access to the provider of a server, or why it is not available. */
export function findInventoryAccess(
  services: Services,
  owner: ManagingConfig,
): InventoryAccess | { readonly missing: string } {
  const found = findPlatformCredentials(services, owner.platform, owner.section);
  return 'missing' in found ? found : { providerConfig: owner, credentials: found.secrets };
}

/** The context of requests and steps for a Host. Throws if its spec is invalid. */
export function toHostContext(
  services: Services,
  { providerConfig: owner, credentials }: InventoryAccess,
  host: Host,
  { signal, log }: HostReconcileContext,
): Omit<HostContext, 'facts' | 'updateStatus'> {
  const { installation, provider, connections, clock } = services;
  const view = toHostView(host);
  if (!view) throw new ProviderError('CONFIG_INVALID', `Host ${host.metadata.name}: ${describeInvalidSpec(host)}`);
  return {
    config: owner.section,
    owner: { installation, provider, machine: hostStatusOf(host).machineRef?.name ?? '' },
    ...{ credentials, connections, log, clock, signal },
    host: view,
    hostedServers: () => services.hosts.servers(owner.platform.name),
    bootId: () => readBootId(services, host, signal),
  };
}

/** Read from the machine itself. */
async function readBootId(services: Services, host: Host, signal: AbortSignal): Promise<string | undefined> {
  const { machineRef } = hostStatusOf(host);
  const named = machineRef && services.stores.machines.get({ name: machineRef.name });
  const machine = named?.metadata.uid === machineRef?.uid ? named : undefined;
  const address = machine && readMachineFact(machine, 'address');
  if (!machine || address === undefined) return undefined;
  const node = services.targets.talos(clusterOfMachine(machine), address);
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

/** Asks the provider whether the server is the one in the spec. */
export async function identifyServer(
  services: Services,
  snapshot: HostSnapshot,
  owner: ManagingConfig,
  run: HostReconcileContext,
): Promise<HostIdentification> {
  const access = findInventoryAccess(services, owner);
  if ('missing' in access) return { notIdentified: access.missing, reason: 'CredentialsMissing' };
  try {
    const context = toHostContext(services, access, snapshot.host, run);
    return await owner.inventory.identify({ ...context, facts: {}, updateStatus: async () => {} });
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const reason = error.retry === 'after-change' ? 'PlatformRejected' : 'PlatformUnreachable';
    return { notIdentified: error.message, reason };
  }
}
