import semver from 'semver';
import type { Machine } from '../../api/machine.ts';
import { controlPlanePool, machineName } from '../../api/names.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Addressing, Finding } from '../../engine/platform.ts';
import { authorityId, findConfigProblems, PatchBlame } from '../../talos/machine-config.ts';
import { standInBundle } from '../../talos/stand-in.ts';
import { describeNodeConfig } from '../machine/node-config.ts';
import { takesVirtualAddress } from './check-addresses.ts';
import { invalid } from './finding.ts';
import { standInEndpoint, standInHardware } from './stand-in-hardware.ts';

/** As many about one patch as people can read at once. */
const most = 5;

/**
 * Whether the configuration of every kind of node could be made, with all patches: what is wrong with them is known
 * before there is a machine. Patches are said by their field, e.g. `workerPools[0].patches[1]`.
 */
export function checkConfigs(spec: ProviderConfigSpec, addressing: Addressing): Finding[] {
  const machines = machinesOf(spec, takesVirtualAddress(spec, addressing));
  const blame = new PatchBlame();
  const problems = machines.flatMap((machine) => findConfigProblems(inputFor(spec, machine, addressing), blame));
  const fields = [...new Set(problems.map(({ from }) => from))];
  return fields.map((field) => {
    const messages = new Set(problems.filter(({ from }) => from === field).map(({ message }) => message));
    return describe(field, [...messages]);
  });
}

function describe(field: string | undefined, messages: readonly string[]): Finding {
  const more = messages.length > most ? [`And ${messages.length - most} more.`] : [];
  const remedy = field === undefined ? [] : ['Correct the patch, or leave it out.'];
  return invalid(field ?? 'spec', [...messages.slice(0, most), ...more, ...remedy].join(' '));
}

type Spec = Machine['spec'];

const clusterRef = { namespace: 'any', name: 'any', uid: 'any' };

/** One node of each kind, with the newest version of Kubernetes and with the oldest. */
function machinesOf(spec: ProviderConfigSpec, hasVirtualAddress: boolean): Spec[] {
  const kinds: Pick<Spec, 'role' | 'pool' | 'size'>[] = [
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
      ...(hasVirtualAddress ? { virtualAddress: standInEndpoint } : {}),
      issuerAuthorities: spec.access.oidcIssuers.map(({ caBundle }) => authorityId(caBundle)),
    })),
  );
}

const inputFor = (spec: ProviderConfigSpec, machine: Spec, addressing: Addressing) =>
  describeNodeConfig({
    spec,
    machine,
    endpoint: `https://${standInEndpoint}:6443`,
    name: machineName(clusterRef, machine.pool, machine.slot),
    hardware: standInHardware(addressing, spec.network),
    schematicId: 'any',
    bundle: standInBundle,
    trust: [],
  });
