import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../../../src/api/machine.ts';
import { labels } from '../../../src/api/names.ts';
import { type Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { bundleKey } from '../../../src/controllers/cluster-secrets.ts';
import { Lease, Secret } from '../../../src/kube/core-types.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import { Stage } from '../../e2e/support/stage.ts';
import { asAdmin } from '../../e2e/support/workload.ts';
import { KubeNode } from '../../support/kube-node.ts';
import type { Backup } from '../../world/truenas/backup.ts';
import { settle, writesAt } from '../writes.ts';
import { derivedNames, machinesEach } from './plan.ts';

/** One cluster as the provider has made it, with all that there is of it anywhere. Plain data. */
export interface Pattern {
  /** What was derived from its name, in the order of {@link derivedNames}, and then its addresses, that of the endpoint first. */
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
    /** Its files lie in there by their full paths. */
    readonly files: string;
  };
}

/** Of names that no other text holds. */
const ref: NamespacedRef = { namespace: 'pattern-space', name: 'pattern-cluster' };
const config = 'pattern-config';

/** Has the provider make one cluster in the world, and writes down what came of it: `pattern.json` in the folder. */
export async function makePattern(folder: string): Promise<Pattern> {
  const seeds = { truenas: { pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } };
  const stage = await Stage.open({ subnet: '127.42.207', seeds });
  try {
    stage.provider.start();
    await stage.things.credentials();
    await stage.things.config(config, { controlPlanes: machinesEach });
    await stage.things.cluster(ref, { config });
    await eventually('it is ready', async () => (await stage.things.getCluster(ref)).status?.phase === 'Ready', 120);
    await settle(writesAt(stage));
    await stage.provider.stop();
    const pattern = await readPattern(stage, folder);
    await writeFile(join(folder, 'pattern.json'), JSON.stringify(pattern), { mode: 0o600 });
    return pattern;
  } catch (error) {
    process.stderr.write(stage.tail());
    throw error;
  } finally {
    await stage.close();
  }
}

async function readPattern(stage: Stage, folder: string): Promise<Pattern> {
  const { platform, things, world } = stage;
  const [secret] = (await platform.list(Secret, { labelSelector: labels.cluster })).items;
  const leases = (await platform.list(Lease, { labelSelector: labels.address })).items;
  const nodes = (await asAdmin(stage, ref, (admin) => admin.list(KubeNode))).items;
  if (!secret) throw new Error('the cluster has no Secret');
  const addresses = leases.map(({ metadata }) => metadata.name.replace('talos-address-', '')).sort();
  const installation = await stage.installation();
  const { host } = new URL(world.truenas.line.url);
  const { folder: kept, ...backup } = await world.truenas.backUp();
  const files = join(folder, 'pattern-files');
  await cp(join(kept, 'root'), files, { recursive: true, preserveTimestamps: true });
  await rm(kept, { recursive: true, force: true });
  return {
    names: [...derivedNames(ref, installation, config, host), ...addresses],
    factoryUrl: world.factory.line.url,
    config: bare(await platform.get(ProviderConfig, { name: config })),
    profile: bare(await platform.get(ClusterProfile, { name: things.profileOf(config) })),
    cluster: bare(await things.getCluster(ref)),
    machines: (await things.machines(ref)).map(bare),
    secret: { ...bare(secret), data: { [bundleKey]: '' } },
    leases: leases.map(bare),
    nodes: nodes.map(bare),
    nas: withoutCluster({
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

/** Marks that name no Cluster: its UID is given by an API server that is not there yet when copies are laid out on a NAS. */
const withoutCluster = (nas: Pattern['nas']): Pattern['nas'] => ({
  ...nas,
  vms: JSON.parse(JSON.stringify(nas.vms).replaceAll(/ cluster=[0-9a-f-]+/g, '')),
  datasets: nas.datasets.map((one) => ({
    ...one,
    properties: withoutMark(one.properties),
    userProperties: withoutMark(one.userProperties),
  })),
});

const withoutMark = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key !== 'openmcp.talos:cluster')
      .map(([key, value]) => [key, value.replace(/ cluster=[0-9a-f-]+$/, '')]),
  );

/** Without what an API server gives to each object. */
function bare<T extends KubeObject>(object: T): T {
  const { name, namespace, labels, annotations, finalizers } = object.metadata;
  const metadata = { name, namespace, labels, annotations, finalizers };
  return JSON.parse(JSON.stringify({ ...object, metadata })) as T;
}
