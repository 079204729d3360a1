import { clusterSecretsName, labels } from '../../api/names.ts';
import { clusterIdentityOf } from '../../controllers/cluster/identity.ts';
import { findTalosCa, fingerprintOf } from '../../controllers/shared/secrets/cluster-secrets.ts';
import { Secret } from '../../kube/core-types.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { AdoptableNode } from './assess-adoption.ts';
import type { AdoptionTarget } from './find-target.ts';

/** Why the platform cluster has no place for an adopted cluster, as sentences. Reads only. */
export async function findConflicts(
  { kube, namespace, signal }: AccessSession,
  target: AdoptionTarget,
  bundle: SecretsBundle,
  nodes: readonly AdoptableNode[],
): Promise<readonly string[]> {
  const talosCa = fingerprintOf(bundle.authorities.os.certificate);
  const own = clusterSecretsName(clusterIdentityOf(target.cluster));
  const { items } = await kube.list(Secret, { namespace, labelSelector: labels.cluster }, signal);
  const conflicts: string[] = [];
  for (const secret of items) {
    const { name } = secret.metadata;
    const found = findTalosCa(secret);
    if (name === own && found !== talosCa)
      conflicts.push(`Secret ${namespace}/${name} exists with the secrets of another cluster.`);
    if (name !== own && found === talosCa)
      conflicts.push(`Secret ${namespace}/${name} has these secrets already: the cluster belongs to another Cluster.`);
  }
  return [...conflicts, ...findMachineConflicts(target, nodes)];
}

/** The name of a Machine is that of its Node, and no two have one name or one address. */
export function findMachineConflicts(
  { machines, others }: Pick<AdoptionTarget, 'machines' | 'others'>,
  nodes: readonly AdoptableNode[],
): readonly string[] {
  return nodes.flatMap(({ name, address }) => {
    const other = others.find(({ metadata, status }) => metadata.name === name || status?.address === address);
    if (other) {
      const { namespace, name: cluster } = other.spec.clusterRef;
      return [`${address}: Machine ${other.metadata.name} of Cluster ${namespace}/${cluster} has its name or address.`];
    }
    const own = machines.find(({ metadata }) => metadata.name === name);
    if (!own || own.spec.address === address) return [];
    return [`${address}: Machine ${name} exists with the address ${own.spec.address}. Delete it: its node stays.`];
  });
}
