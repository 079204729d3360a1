import { annotations, clusterId, secretsName } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp.ts';
import { Secret } from '../../kube/core-types.ts';
import { keyText } from '../../kube/resource.ts';
import { addressHolder } from '../address-leases.ts';
import { foundSecrets, judgeFor, look, refOf, slotsOf } from '../cluster/view.ts';
import { readClusterRecord } from '../cluster-record.ts';
import type { Services } from '../services.ts';

/** What on the platform cluster still speaks of a Machine that does not exist. */
export interface Evidence {
  /** That is claimed for it. */
  readonly address: string | undefined;
  /** There is one that it was made for, by its name. */
  readonly cluster: string | undefined;
  /** What that Cluster needs it for, in a sentence. */
  readonly need: string | undefined;
}

/** Asked of the API server itself, like `clusters`: a cache may lack what came into being a moment ago. */
export async function gatherEvidence(
  services: Services,
  clusters: readonly Cluster[],
  machine: string,
  signal: AbortSignal,
): Promise<Evidence> {
  const address = await services.addresses.find(addressHolder.machine(machine), signal);
  const cluster = clusters.find((one) => isNamedAfter(machine, one) || lists(one, machine));
  if (!cluster) return { address, cluster: undefined, need: undefined };
  const need = await findNeed(services, cluster, machine, signal);
  return { address, cluster: keyText(refOf(cluster)), need };
}

/** The name of a Machine holds the hash of its Cluster, whatever its nodes are called. */
const isNamedAfter = (machine: string, cluster: Cluster): boolean => machine.includes(`-${clusterId(refOf(cluster))}-`);

function lists({ status }: Cluster, machine: string): boolean {
  const listed = status?.providerStatus?.['machines'];
  return Array.isArray(listed) && listed.includes(machine);
}

async function findNeed(
  services: Services,
  cluster: Cluster,
  machine: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = refOf(cluster);
  const name = keyText(ref);
  if (lists(cluster, machine)) return `Cluster ${name} lists it in its status.`;
  const key = { namespace: services.namespace, name: secretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  const noted = object?.metadata.annotations?.[annotations.bootstrapMachine];
  if (noted === machine || readClusterRecord(cluster)?.bootstrapMachine === machine)
    return `The etcd of Cluster ${name} was begun on it.`;
  const view = look(services, cluster);
  const { trouble } = foundSecrets(judgeFor(services, { object, cluster, machines: view.machines }));
  if (trouble) return trouble.message;
  if (!view.spec) return `Nobody can say whether Cluster ${name} wants it: see its conditions.`;
  if (slotsOf(view).some((slot) => slot.name === machine)) return `Cluster ${name} wants a Machine of this name.`;
  return undefined;
}
