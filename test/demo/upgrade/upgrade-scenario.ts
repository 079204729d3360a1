import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import type { RawConfig } from '../objects.ts';

/** The parts of an upgrade that differ between platforms. */
export interface UpgradeScenario {
  /** Seeds of the simulators in place of those of the platform's ordinary story. */
  readonly seeds: Readonly<Record<string, unknown>>;
  /** Objects in addition to those of the ordinary story. */
  readonly objects: readonly KubeObject[];
  /** The size of the nodes. */
  readonly size: string;
  /** The part of the spec of a ProviderConfig that names this version of Talos. */
  talos(version: string): Readonly<Record<string, object>>;
}

export const oldVersions = { talos: '1.13.8', kubernetes: '1.34' } as const;
export const newVersions = { talos: '1.13.9', kubernetes: '1.35' } as const;

/** The label that the worker pool gets. */
export const labels = { 'example.org/disk': 'fast' };

export const workerPool = (size: string, replicas: number, nodeLabels: Record<string, string>): object => ({
  ...{ name: 'general', size, replicas, labels: nodeLabels },
});

/** The objects of the ordinary story, with older versions and two workers. */
export function describeOldCluster(
  objects: readonly KubeObject[],
  { size, talos, ...more }: UpgradeScenario,
): KubeObject[] {
  for (const object of objects) {
    if (object.kind === Cluster.kind) (object as Cluster).spec.kubernetes = { version: oldVersions.kubernetes };
    if (object.kind !== ProviderConfig.kind) continue;
    const { spec } = object as RawConfig;
    for (const [name, section] of Object.entries(talos(oldVersions.talos))) spec[name] = { ...spec[name], ...section };
    spec['kubernetes'] = { versions: [{ version: '1.35.4' }, { version: '1.34.7' }] };
    Object.assign(spec, { workerPools: [workerPool(size, 2, {})] });
  }
  return [...more.objects, ...objects];
}
