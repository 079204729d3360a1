import semver from 'semver';
import type { Machine } from '../../../api/machine.ts';
import { controlPlanePool, machineName } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import { findConfigProblems, issuerCaId, PatchAttribution } from '../../../talos/config/machine-config.ts';
import { placeholderBundle } from '../../../talos/secrets/placeholder-bundle.ts';
import { describeNodeConfig } from '../../machine/node-config.ts';
import { needsVirtualAddress, nodeFamilyOf } from './check-addresses.ts';
import { invalidField } from './invalid-field.ts';
import { describePlaceholderHardware, placeholderEndpointOf } from './placeholder-hardware.ts';

/** Limit for one patch, so that the message stays readable. */
const maxMessages = 5;

/**
 * Renders the configuration of every kind of node with all patches, so that errors are reported before a Machine
 * exists. Errors of patches name their field, e.g. `workerPools[0].patches[1]`.
 */
export function checkNodeConfigs(spec: ProviderConfigSpec, addressing: Addressing): Diagnostic[] {
  const machines = describeExampleMachines(spec, needsVirtualAddress(spec, addressing));
  const attribution = new PatchAttribution();
  const problems = machines.flatMap((machine) =>
    findConfigProblems(describeExampleNode(spec, machine, addressing), attribution),
  );
  const fields = [...new Set(problems.map(({ from }) => from))];
  return fields.map((field) => {
    const messages = new Set(problems.filter(({ from }) => from === field).map(({ message }) => message));
    return describeProblems(field, [...messages]);
  });
}

function describeProblems(field: string | undefined, messages: readonly string[]): Diagnostic {
  const more = messages.length > maxMessages ? [`And ${messages.length - maxMessages} more.`] : [];
  const remedy = field === undefined ? [] : ['Correct or remove the patch.'];
  return invalidField(field ?? 'spec', [...messages.slice(0, maxMessages), ...more, ...remedy].join(' '));
}

type MachineSpec = Machine['spec'];

const clusterRef = { namespace: 'any', name: 'any', uid: 'any' };

/** One node of each kind, with the newest and with the oldest Kubernetes version. */
function describeExampleMachines(spec: ProviderConfigSpec, hasVirtualAddress: boolean): MachineSpec[] {
  const kinds: Pick<MachineSpec, 'role' | 'pool' | 'size'>[] = [
    { role: 'controlplane', pool: controlPlanePool, size: spec.controlPlane.size },
    ...spec.workerPools.map(({ name, size }) => ({ role: 'worker' as const, pool: name, size })),
  ];
  const versions = spec.kubernetes.versions.map(({ version }) => version).sort(semver.compare);
  const extremes = [...new Set([versions[0], versions.at(-1)])].filter((version) => version !== undefined);
  return extremes.flatMap((kubernetesVersion) =>
    kinds.map((kind) => ({
      ...kind,
      providerRef: { ...spec.providerRef, environment: 'any', namespace: 'any' },
      providerConfigRef: { name: 'any' },
      clusterRef,
      platform: 'any',
      slot: 0,
      talosVersion: spec.talos.version,
      kubernetesVersion,
      ...(hasVirtualAddress ? { virtualAddress: placeholderEndpointOf(nodeFamilyOf(spec)) } : {}),
      issuerAuthorities: spec.access.oidcIssuers.map(({ caBundle }) => issuerCaId(caBundle)),
    })),
  );
}

/** The input of a configuration that is rendered only to be read: without keys, addresses and hardware of its own. */
export const describeExampleNode = (spec: ProviderConfigSpec, machine: MachineSpec, addressing: Addressing) =>
  describeNodeConfig({
    spec,
    machine,
    endpoint: `https://${toAuthority(placeholderEndpointOf(nodeFamilyOf(spec)), 6443)}`,
    name: machineName(clusterRef, machine.pool, machine.slot),
    hardware: describePlaceholderHardware(addressing, spec.network, nodeFamilyOf(spec)),
    schematicId: 'any',
    bundle: placeholderBundle,
    trust: [],
  });
