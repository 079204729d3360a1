import type { Machine } from '../../api/machine.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { NodeHardware } from '../../engine/platform.ts';
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
 * The machine configuration that a machine was given or would be given, for people to read: what is secret is not in it, nor
 * whom its API server trusts since. Throws a ProviderError when there could be none.
 */
export function renderPlannedConfig(
  { spec, ...refs }: PlannedConfigSources,
  { slot, machine }: HostAssignment,
  hardware: NodeHardware,
  { endpoint, virtualAddress }: PlannedAddresses,
): string | undefined {
  if (endpoint === undefined) return undefined;
  const { name, role, pool, size, site } = slot;
  const planned: Machine['spec'] = {
    // Nothing of the document follows from the instance.
    providerRef: { ...spec.providerRef, environment: '', namespace: '' },
    ...{ ...refs, role, pool, slot: slot.slot, size, talosVersion: spec.talos.version },
    ...(site === undefined ? {} : { site }),
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
