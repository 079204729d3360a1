import { Host } from '../../../../src/api/host.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { labels } from '../../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { Lease, Secret } from '../../../../src/kube/core-types.ts';
import type { ResourceType } from '../../../../src/kube/resource.ts';
import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import { type Testbed, userAgents } from '../testbed/testbed.ts';

/**
 * Descriptions of all existing objects that the provider created or that it was created for. Empty: nothing was left
 * behind.
 */
export async function listLeftovers(testbed: Testbed): Promise<string[]> {
  const { platform } = testbed;
  const kinds: readonly ResourceType[] = [Host, ProviderConfig, ClusterProfile, Cluster, AccessRequest, Machine];
  const objects = await Promise.all(kinds.map(async (type) => (await platform.list(type)).items));
  const marked = await Promise.all([
    platform.list(Lease, { labelSelector: labels.address }),
    platform.list(Secret, { labelSelector: labels.cluster }),
    platform.list(Secret, { labelSelector: labels.access }),
  ]);
  const found = [...objects.flat(), ...marked.flatMap((list) => list.items)];
  return [
    ...found.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ...listNasLeftovers(testbed),
    ...listRobotLeftovers(testbed),
    ...listRunningNodes(testbed),
  ];
}

/** The content of the TrueNAS system, but for its pools, the cache of boot images and its folders. */
export function listNasLeftovers({ world }: Testbed): string[] {
  const { vms, datasets, files } = world.truenas.dump();
  const named = (objects: readonly object[], key: string): string[] =>
    objects.map((thing) => String((thing as Record<string, unknown>)[key]));
  const isKept = (path: string): boolean => /^(\/mnt\/)?[^/]+(\/talos(\/images(\/.*)?)?)?$/.test(path);
  return [
    ...named(vms, 'name').map((name) => `VM ${name}`),
    ...named(datasets, 'id')
      .filter((id) => !isKept(id))
      .map((id) => `dataset ${id}`),
    ...named(files, 'path')
      .filter((path) => !isKept(path))
      .map((path) => `file ${path}`),
  ];
}

/** Servers with our ownership mark, or with a boot target other than their disks. */
const listRobotLeftovers = ({ world }: Testbed): string[] =>
  world.robot
    .servers()
    .filter(({ name, armed }) => name.startsWith('cpt.') || armed !== undefined)
    .map(({ number, name, armed }) => `server ${number} ${name} ${armed ?? ''}`);

const listRunningNodes = ({ world }: Testbed): string[] =>
  world.machines
    .nodes()
    .filter(({ stage }) => stage !== 'off')
    .map(({ name }) => `Talos node ${name}`);

/** The holder of each address. */
export async function addressHolders({ platform }: Testbed): Promise<Map<string, string>> {
  const { items } = await platform.list(Lease, { labelSelector: labels.address });
  return new Map(
    items.map(({ metadata, spec }) => [metadata.name.replace('talos-address-', ''), spec?.holderIdentity ?? '']),
  );
}

const callDetail = (call: InterceptedCall): { agent?: string; node?: string } =>
  (call.detail ?? {}) as { agent?: string };

/** At API servers the user agent names the caller; at all other servers the provider is the only caller. */
export const isProviderCall = (call: InterceptedCall): boolean =>
  // Events of a booting machine have no caller.
  call.simulator !== 'boot' &&
  (!['kube', 'workload'].includes(call.simulator) || callDetail(call).agent === userAgents.provider);

/** Calls of the provider at the platform's API server. */
export const providerCalls = (calls: readonly InterceptedCall[]): readonly InterceptedCall[] =>
  calls.filter((call) => call.simulator === 'kube' && isProviderCall(call));

/** The writes among them, without renewals of the provider's own Lease. */
export const providerWrites = (calls: readonly InterceptedCall[]): string[] =>
  providerCalls(calls)
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('GET ') && !/\/leases\/cluster-provider-talos-/.test(name));

/** The provider's writes in a cluster that it made. */
export const workloadWrites = (calls: readonly InterceptedCall[]): string[] =>
  calls
    .filter((call) => call.simulator === 'workload' && isProviderCall(call))
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('GET '));

/** The calls that changed something on a TrueNAS system or on a node. */
export const infrastructureWrites = (calls: readonly InterceptedCall[]): string[] =>
  calls
    .filter(({ simulator, name }) =>
      simulator === 'truenas'
        ? /^(POST |.*\.(create|update|delete|start|stop|poweroff|restart|resume|put)$)/.test(name)
        : simulator === 'talos' && /\/(Bootstrap|ApplyConfiguration|Reset|Reboot|Shutdown|Upgrade)$/.test(name),
    )
    .map(({ simulator, name }) => `${simulator} ${name}`);

/** The nodes that received a bootstrap call for etcd, one entry for each call. */
export const bootstrappedNodes = (calls: readonly InterceptedCall[]): string[] =>
  calls
    .filter(({ simulator, name }) => simulator === 'talos' && name === 'machine.MachineService/Bootstrap')
    .map((call) => callDetail(call).node ?? '');
