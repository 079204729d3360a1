import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { FleetLists } from '../../status/views/fleet-overview.ts';

type FleetReader = Pick<KubeClient, 'list'>;

/** The objects of an overview; only the Clusters of the namespace, if there is one. */
export async function listFleet(
  kube: FleetReader,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<FleetLists> {
  const [clusters, machines, configs, hosts] = await Promise.all([
    kube.list(Cluster, { namespace }, signal),
    kube.list(Machine, {}, signal),
    kube.list(ProviderConfig, {}, signal),
    kube.list(Host, {}, signal),
  ]);
  return { clusters: clusters.items, machines: machines.items, configs: configs.items, hosts: hosts.items };
}
