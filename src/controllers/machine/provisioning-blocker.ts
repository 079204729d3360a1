import type { Machine } from '../../api/machine.ts';
import { clusterSecretsName, type ProviderInstance } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ProviderError } from '../../lib/errors.ts';
import { clusterOfMachine } from '../cluster/identity.ts';
import { findCluster } from '../cluster/ownership.ts';
import { assessSecretsOfCluster, findSecretsState, machinesOfCluster } from '../cluster/view.ts';
import { clusterSecretsErrorOf } from '../shared/secrets/cluster-secrets-state.ts';
import type { Services } from '../shared/services.ts';

type BlockerServices = ProviderInstance & Pick<Services, 'kube' | 'stores'>;

/**
 * Why provisioning must stop: the Secret of the cluster is missing or belongs to another cluster. Without this check,
 * servers are erased and disks written for a node that cannot be configured.
 */
export async function findProvisioningBlocker(
  services: BlockerServices,
  machine: Machine,
  signal: AbortSignal,
): Promise<ProviderError | undefined> {
  const ref = clusterOfMachine(machine);
  const cluster = findCluster(services.stores, ref);
  const known = findSecretsState(services, ref);
  if (!cluster || known?.kind !== 'unusable') return undefined;
  // The cache may not contain a Secret that was just created.
  const key = { namespace: services.namespace, name: clusterSecretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  return clusterSecretsErrorOf(
    assessSecretsOfCluster(services, { object, cluster, machines: machinesOfCluster(services, ref) }),
  );
}
