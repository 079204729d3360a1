import type { Machine } from '../../api/machine.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { NodeHardware } from '../../engine/node.ts';
import { renderMachineConfig } from '../../talos/config/machine-config.ts';
import { maskSecrets } from '../../talos/config/mask-secrets.ts';
import { computeSchematicId } from '../../talos/image-factory/client.ts';
import { placeholderBundle } from '../../talos/secrets/placeholder-bundle.ts';
import { describeNodeConfig } from '../machine/node-config.ts';
import type { HostAssignment } from './assign-hosts.ts';
import type { PlannedAddresses } from './plan-addresses.ts';

export interface PlannedConfigSources {
  readonly spec: ProviderConfigSpec;
  readonly clusterRef: Machine['spec']['clusterRef'];
  readonly providerConfigRef: Machine['spec']['providerConfigRef'];
  readonly platform: string;
  readonly kubernetesVersion: string;
}

/**
 * The machine configuration that a machine has or would get, for users to read. It contains no secrets and no OIDC
 * trust that was rolled out later. Throws a ProviderError if no configuration can be rendered.
 */
export function renderPlannedConfig(
  { spec, ...refs }: PlannedConfigSources,
  { slot, machine }: HostAssignment,
  hardware: NodeHardware,
  { endpoint, virtualAddress }: PlannedAddresses,
): string | undefined {
  if (endpoint === undefined) return undefined;
  const { name, role, pool, size, failureDomain } = slot;
  const planned: Machine['spec'] = {
    // The document does not depend on the instance.
    providerRef: { ...spec.providerRef, environment: '', namespace: '' },
    ...{ ...refs, role, pool, slot: slot.slot, size, talosVersion: spec.talos.version },
    ...(failureDomain === undefined ? {} : { failureDomain }),
    ...(virtualAddress === undefined ? {} : { virtualAddress }),
  };
  const { extensions, kernelArguments } = spec.talos;
  const input = describeNodeConfig({
    ...{ spec, name, endpoint, hardware, machine: machine?.spec ?? planned },
    schematicId: computeSchematicId({ extensions, kernelArguments }),
    bundle: placeholderBundle,
    trust: [],
  });
  return maskSecrets(renderMachineConfig(input));
}
