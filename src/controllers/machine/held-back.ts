import type { Machine } from '../../api/machine.ts';
import { type Instance, secretsName } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ProviderError } from '../../lib/errors.ts';
import { clusterObject, clusterOf } from '../cluster/identity.ts';
import { judgeFor, machinesOf, secretsStateOf } from '../cluster/view.ts';
import { troubleOf } from '../secrets-state.ts';
import type { Services } from '../services.ts';

type Needed = Instance & Pick<Services, 'kube' | 'stores'>;

/**
 * Why a machine is not made any further: the secrets of its cluster are gone, or not its own. Servers would be erased and disks
 * written for a node that cannot be configured.
 */
export async function whyHeldBack(
  services: Needed,
  machine: Machine,
  signal: AbortSignal,
): Promise<ProviderError | undefined> {
  const ref = clusterOf(machine);
  const cluster = clusterObject(services.stores, ref);
  const known = secretsStateOf(services, ref);
  if (!cluster || known?.kind !== 'unusable') return undefined;
  // The cache may lack the Secret that was made a moment ago.
  const key = { namespace: services.namespace, name: secretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  return troubleOf(judgeFor(services, { object, cluster, machines: machinesOf(services, ref) }));
}
