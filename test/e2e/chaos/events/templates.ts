import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import type { ChaosEvent } from '../event.ts';
import type { Fleet } from '../fleet.ts';
import { imageChecksumOf, kubernetesVersions, talosVersions } from '../fleet-configs.ts';
import { configNames, type FleetLayout, refOf } from '../fleet-layout.ts';

const clustersOf = (config: string, { clusters }: FleetLayout): string[] =>
  clusters.filter((cluster) => cluster.config === config).map(({ name }) => name);

/** Targets of an event that happens to one template, with all clusters that follow it. */
const oneConfig: Pick<ChaosEvent, 'targets' | 'clusters'> = {
  targets: (layout) => configNames.filter((name) => clustersOf(name, layout).length > 0),
  clusters: clustersOf,
};

const change = async (fleet: Fleet, name: string, spec: object): Promise<void> =>
  void (await fleet.testbed.platform.merge(ProviderConfig, { name }, { spec }));
const machinesOf = async (fleet: Fleet, config: string) =>
  (await fleet.machines()).filter(({ spec }) => spec.providerConfigRef.name === config);

export const talosUpgrade: ChaosEvent = {
  name: 'upgrade of Talos to the next release',
  ...oneConfig,
  async strike(fleet, target) {
    const { spec } = await fleet.testbed.objects.getConfig(target);
    const at = (talosVersions as readonly string[]).indexOf(spec.talos.version);
    const version = talosVersions[at + 1];
    if (version === undefined) return;
    const image = target === 'metal' ? { hetznerRobot: { image: { sha256: imageChecksumOf(version) } } } : {};
    await change(fleet, target, { talos: { version }, ...image });
  },
  async isDone(fleet, target) {
    const { spec } = await fleet.testbed.objects.getConfig(target);
    const machines = await machinesOf(fleet, target);
    return machines.every(({ status }) => status?.applied?.talosVersion === spec.talos.version);
  },
};

export const labelChanged: ChaosEvent = {
  name: 'change of the labels of a template',
  ...oneConfig,
  async strike(fleet, target, number) {
    const { spec } = await fleet.testbed.objects.getConfig(target);
    const workerPools = spec.workerPools.map((pool) => ({ ...pool, labels: { 'example.org/rack': `r${number}` } }));
    await change(fleet, target, { workerPools });
    await fleet.minutes(2);
  },
};

export const patchChanged: ChaosEvent = {
  name: 'change of the patches of a template',
  ...oneConfig,
  async strike(fleet, target, number) {
    const patches = [{ machine: { sysctls: { 'vm.max_map_count': `${100_000 + number}` } } }];
    await change(fleet, target, { talos: { patches } });
    await fleet.minutes(2);
  },
};

export const kubernetesUpgrade: ChaosEvent = {
  name: 'upgrade of Kubernetes to the next release',
  targets: ({ clusters }) => clusters.map(({ name }) => name),
  clusters: (target) => [target],
  async strike(fleet, target) {
    const { spec } = await fleet.testbed.objects.getCluster(refOf({ name: target }));
    const at = (kubernetesVersions as readonly string[]).indexOf(spec.kubernetes?.version ?? '');
    const version = kubernetesVersions[at + 1];
    if (version === undefined) return;
    await fleet.testbed.platform.merge(Cluster, refOf({ name: target }), { spec: { kubernetes: { version } } });
  },
  async isDone(fleet, target) {
    const { spec } = await fleet.testbed.objects.getCluster(refOf({ name: target }));
    const machines = await fleet.machines(target);
    return machines.every(({ status }) => status?.applied?.kubernetesVersion === spec.kubernetes?.version);
  },
};
