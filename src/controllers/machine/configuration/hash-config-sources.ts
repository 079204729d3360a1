import type { Machine } from '../../../api/machine.ts';
import { clusterSecretsName } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { shortHash } from '../../../lib/hash.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { hashSpec } from '../../rollout/spec-hash.ts';
import type { Services } from '../../shared/services.ts';

/** Hash of the objects that the desired configuration of a Machine is rendered from, and of what else the caller depends on. */
export function hashConfigSources(
  { services, machine }: { readonly services: Services; readonly machine: Machine },
  spec: ProviderConfigSpec,
  more: object,
): string {
  const name = clusterSecretsName(clusterOfMachine(machine));
  const secrets = services.stores.secrets.get({ namespace: services.namespace, name });
  const { uid, resourceVersion } = { ...secrets?.metadata };
  const objects = [hashSpec(spec, services.release), machine.metadata.name, machine.spec, uid, resourceVersion];
  return shortHash(JSON.stringify([...objects, more]));
}
