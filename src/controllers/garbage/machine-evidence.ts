import { annotations, clusterId, clusterSecretsName } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { Secret } from '../../kube/core-types.ts';
import { formatObjectKey } from '../../kube/resource.ts';
import { listDesiredSlots } from '../cluster/scaling/machine-slots.ts';
import { assessSecretsOfCluster, buildClusterView, clusterIdentityOf, toSecretsView } from '../cluster/view.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { readClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { Services } from '../shared/services.ts';

/** References on the platform cluster to a Machine that does not exist. */
export interface MachineEvidence {
  /** The address that is claimed for it. */
  readonly address: string | undefined;
  /** The Cluster that it was created for, by its name. */
  readonly cluster: string | undefined;
  /** Why that Cluster needs it, as a sentence. */
  readonly needReason: string | undefined;
}

/** Reads from the API server, as does the caller for `clusters`: a cache may lack objects that were just created. */
export async function gatherMachineEvidence(
  services: Services,
  clusters: readonly Cluster[],
  machine: string,
  signal: AbortSignal,
): Promise<MachineEvidence> {
  const address = await services.addresses.find(addressHolder.machine(machine), signal);
  const cluster = clusters.find((one) => isNamedAfter(machine, one) || listsMachine(one, machine));
  if (!cluster) return { address, cluster: undefined, needReason: undefined };
  const need = await findNeed(services, cluster, machine, signal);
  return { address, cluster: formatObjectKey(clusterIdentityOf(cluster)), needReason: need };
}

/** The name of a Machine contains the hash of its Cluster, also with a custom prefix of node names. */
const isNamedAfter = (machine: string, cluster: Cluster): boolean =>
  machine.includes(`-${clusterId(clusterIdentityOf(cluster))}-`);

function listsMachine({ status }: Cluster, machine: string): boolean {
  const listed = status?.providerStatus?.['machines'];
  return Array.isArray(listed) && listed.includes(machine);
}

async function findNeed(
  services: Services,
  cluster: Cluster,
  machine: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = clusterIdentityOf(cluster);
  const name = formatObjectKey(ref);
  if (listsMachine(cluster, machine)) return `Cluster ${name} lists it in its status.`;
  const key = { namespace: services.namespace, name: clusterSecretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  const noted = object?.metadata.annotations?.[annotations.bootstrapMachine];
  if (noted === machine || readClusterRecord(cluster)?.bootstrapMachine === machine)
    return `The etcd of Cluster ${name} was bootstrapped on it.`;
  const view = buildClusterView(services, cluster);
  const { secretsProblem: problem } = toSecretsView(
    assessSecretsOfCluster(services, { object, cluster, machines: view.machines }),
  );
  if (problem) return problem.message;
  if (!view.spec) return `Whether Cluster ${name} needs it is unknown: see its conditions.`;
  if (listDesiredSlots(view).some((slot) => slot.name === machine))
    return `Cluster ${name} needs a Machine of this name.`;
  return undefined;
}
