import { Machine } from '../../api/machine.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { ResourcesInUse } from '../../engine/capabilities/garbage.ts';
import type { NodeSpec } from '../../engine/node.ts';
import type { Facts } from '../../engine/step.ts';
import type { Services } from '../shared/services.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';

/**
 * The resources that ProviderConfigs and Machines of this provider refer to, read from the API server: a stale cache
 * would miss references. Undefined if one of these objects cannot be parsed.
 */
export async function findResourcesInUse(
  { kube, provider }: Pick<Services, 'kube' | 'provider'>,
  signal: AbortSignal,
): Promise<ResourcesInUse | undefined> {
  const configs = (await kube.list(ProviderConfig, {}, signal)).items.filter(
    ({ spec }) => spec?.providerRef?.name === provider,
  );
  const specs = new Map<string, ProviderConfigSpec>();
  for (const config of configs) {
    const parsed = parseSpec(config);
    if (!parsed.success) return undefined;
    specs.set(config.metadata.name, parsed.data);
  }
  const machines = (await kube.list(Machine, {}, signal)).items.filter(
    ({ spec }) => spec.providerRef.name === provider,
  );
  // Only this provider writes facts.
  const factsOf = ({ status }: Machine) => (status?.progress?.facts ?? {}) as Facts;
  const talos = [...specs.values()].map((spec) => talosImageOf(spec, spec.talos.version));
  for (const machine of machines.filter((one) => factsOf(one)['joined'] !== true)) {
    const spec = specs.get(machine.spec.providerConfigRef.name);
    if (!spec) return undefined;
    talos.push(talosImageOf(spec, machine.spec.talosVersion));
  }
  return { talos, facts: machines.map(factsOf) };
}

const talosImageOf = (
  { talos: { extensions, kernelArguments, factoryUrl } }: ProviderConfigSpec,
  version: string,
): NodeSpec['talos'] => ({ version, schematic: { extensions, kernelArguments }, factoryUrl });
