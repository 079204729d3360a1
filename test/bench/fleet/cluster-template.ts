import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../../../src/api/machine.ts';
import { labels } from '../../../src/api/names.ts';
import { type Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { Lease, Secret } from '../../../src/kube/core-types.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { withAdminClient } from '../../e2e/support/access/workload-cluster.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import type { Backup } from '../../world/truenas/test-controls/backup.ts';
import { awaitNoWrites, countProviderWrites } from '../write-counts.ts';
import { derivedNames, machinesPerCluster } from './fleet-layout.ts';

/** One cluster created by the provider, with all of its objects and resources. Plain data. */
export interface ClusterTemplate {
  /**
   * The names derived from its name, in the order of {@link derivedNames}, and then its addresses, that of the endpoint
   * first.
   */
  readonly names: readonly string[];
  readonly factoryUrl: string;
  readonly config: ProviderConfig;
  readonly profile: ClusterProfile;
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
  readonly secret: Secret;
  readonly leases: readonly Lease[];
  readonly nodes: readonly KubeNode[];
  readonly nas: {
    readonly vms: Backup['vms'];
    readonly devices: Backup['devices'];
    readonly datasets: readonly (Omit<Backup['datasets'][number], 'properties' | 'userProperties'> & {
      readonly properties: Readonly<Record<string, string>>;
      readonly userProperties: Readonly<Record<string, string>>;
    })[];
    readonly marks: readonly (readonly [string, { mode: number; uid: number; gid: number }])[];
    /** Its files in this folder, by their full paths. */
    readonly files: string;
  };
}

/** Names that occur in no other text. */
const templateRef: NamespacedRef = { namespace: 'pattern-space', name: 'pattern-cluster' };
const templateConfigName = 'pattern-config';

/** Lets the provider create one cluster on the simulators, and writes the result to `pattern.json` in the folder. */
export async function createClusterTemplate(folder: string): Promise<ClusterTemplate> {
  const seeds = { truenas: { pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } };
  const testbed = await Testbed.open({ subnet: '127.42.207', seeds });
  try {
    testbed.provider.start();
    await testbed.objects.credentials();
    await testbed.objects.config(templateConfigName, { controlPlanes: machinesPerCluster });
    await testbed.objects.cluster(templateRef, { config: templateConfigName });
    await eventually(
      'it is ready',
      async () => (await testbed.objects.getCluster(templateRef)).status?.phase === 'Ready',
      120,
    );
    await awaitNoWrites(countProviderWrites(testbed));
    await testbed.provider.stop();
    const pattern = await readClusterTemplate(testbed, folder);
    await writeFile(join(folder, 'pattern.json'), JSON.stringify(pattern), { mode: 0o600 });
    return pattern;
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

async function readClusterTemplate(testbed: Testbed, folder: string): Promise<ClusterTemplate> {
  const { platform, objects, world } = testbed;
  const [secret] = (await platform.list(Secret, { labelSelector: labels.cluster })).items;
  const leases = (await platform.list(Lease, { labelSelector: labels.address })).items;
  const nodes = (await withAdminClient(testbed, templateRef, (admin) => admin.list(KubeNode))).items;
  if (!secret) throw new Error('the cluster has no Secret');
  const addresses = leases.map(({ metadata }) => metadata.name.replace('talos-address-', '')).sort();
  const installation = await testbed.installation();
  const { host } = new URL(world.truenas.line.url);
  const { folder: kept, ...backup } = await world.truenas.backUp();
  const files = join(folder, 'pattern-files');
  await cp(join(kept, 'root'), files, { recursive: true, preserveTimestamps: true });
  await rm(kept, { recursive: true, force: true });
  return {
    names: [...derivedNames(templateRef, installation, templateConfigName, host), ...addresses],
    factoryUrl: world.factory.line.url,
    config: withoutServerFields(await platform.get(ProviderConfig, { name: templateConfigName })),
    profile: withoutServerFields(await platform.get(ClusterProfile, { name: objects.profileOf(templateConfigName) })),
    cluster: withoutServerFields(await objects.getCluster(templateRef)),
    machines: (await objects.machines(templateRef)).map(withoutServerFields),
    secret: { ...withoutServerFields(secret), data: { [secretsBundleKey]: '' } },
    leases: leases.map(withoutServerFields),
    nodes: nodes.map(withoutServerFields),
    nas: withoutClusterMarks({
      vms: backup.vms,
      devices: backup.devices,
      datasets: backup.datasets.map((one) => ({
        ...one,
        properties: Object.fromEntries(one.properties),
        userProperties: Object.fromEntries(one.userProperties),
      })),
      marks: [...backup.marks],
      files,
    }),
  };
}

/**
 * Marks without a Cluster: its UID comes from an API server that does not exist yet when copies are placed on a NAS.
 */
const withoutClusterMarks = (nas: ClusterTemplate['nas']): ClusterTemplate['nas'] => ({
  ...nas,
  vms: JSON.parse(JSON.stringify(nas.vms).replaceAll(/ cluster=[0-9a-f-]+/g, '')),
  datasets: nas.datasets.map((one) => ({
    ...one,
    properties: withoutClusterMark(one.properties),
    userProperties: withoutClusterMark(one.userProperties),
  })),
});

const withoutClusterMark = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key !== 'openmcp.talos:cluster')
      .map(([key, value]) => [key, value.replace(/ cluster=[0-9a-f-]+$/, '')]),
  );

/** Removes the fields that an API server sets. */
function withoutServerFields<T extends KubeObject>(object: T): T {
  const { name, namespace, labels, annotations, finalizers } = object.metadata;
  const metadata = { name, namespace, labels, annotations, finalizers };
  return JSON.parse(JSON.stringify({ ...object, metadata })) as T;
}
