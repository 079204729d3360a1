import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Machine } from '../../../src/api/machine.ts';
import { fieldManager } from '../../../src/api/names.ts';
import { Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Lease, Namespace, Secret } from '../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { objectKeyOf } from '../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import type { SecretString as Hidden } from '../../../src/lib/secret-string.ts';
import { createSecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../../src/talos/secrets/secrets-bundle-file.ts';
import { inParallel } from '../access-requests/requests.ts';
import type { ClusterTemplate } from './cluster-template.ts';
import {
  clustersOnSystem,
  configName,
  derivedNames,
  networkSectionOf,
  placementOf,
  systemAddress,
  systemCount,
  systemPort,
  vmIdMapper,
} from './fleet-layout.ts';
import { NameSubstitution } from './name-substitution.ts';
import type { SystemsReady } from './systems-process.ts';

export interface FleetSeed {
  readonly pattern: ClusterTemplate;
  readonly installation: string;
  readonly namespace: string;
  readonly clusters: number;
  readonly systems: SystemsReady;
  /** `secrets.yaml` of each cluster. */
  readonly bundles: readonly string[];
}

/**
 * Secrets bundles of this many clusters, in `bundles.json` in the folder. Each has its own certificate authorities and
 * tokens. The service account signing key is the same for all, because generating an RSA key takes a second and only
 * its form matters.
 */
export async function createSecretsBundles(folder: string, clusters: number): Promise<readonly string[]> {
  const now = new Date();
  const { serviceAccountKey } = await createSecretsBundle({ now });
  const bundles: string[] = [];
  while (bundles.length < clusters) {
    const bundle = await createSecretsBundle({ now, serviceAccountKeyBits: 512 });
    const text: Hidden = formatSecretsBundle({ ...bundle, serviceAccountKey });
    bundles.push(text.reveal());
  }
  await writeFile(join(folder, 'bundles.json'), JSON.stringify(bundles), { mode: 0o600 });
  return bundles;
}

/** Writes every object that the provider and users would have written, in its final state. */
export async function seedFleet(kubeconfig: string, ground: FleetSeed): Promise<void> {
  const connection = loadApiServerConnection({ path: kubeconfig });
  const provider = new KubeClient(new Transport(connection), { fieldManager });
  const people = new KubeClient(new Transport(connection), { fieldManager: 'kubectl-create' });
  try {
    const namespaces = new Set(Array.from({ length: ground.clusters }, (_, i) => placementOf(i).ref.namespace));
    for (const name of namespaces) await people.create(Namespace, describeNamespace(name));
    for (let system = 0; system < systemCount; system += 1) await seedSystem(people, provider, ground, system);
    await inParallel(ground.clusters, (number) => seedCluster(people, provider, ground, number));
  } finally {
    await Promise.all([provider.close(), people.close()]);
  }
}

const describeNamespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const substitutionFor = (ground: FleetSeed, number: number): NameSubstitution => {
  const { ref, system, addresses } = placementOf(number);
  const host = `${systemAddress(system)}:${systemPort}`;
  const names = derivedNames(ref, ground.installation, configName(system), host);
  return new NameSubstitution(
    [...ground.pattern.names, ground.pattern.factoryUrl],
    [...names, ...addresses, ground.systems.factoryUrl],
  );
};

async function seedSystem(people: KubeClient, provider: KubeClient, ground: FleetSeed, system: number): Promise<void> {
  const { pattern, clusters } = ground;
  const renaming = substitutionFor(ground, system);
  const { user, apiKey, ca } = ground.systems.systems[system] as SystemsReady['systems'][number];
  const name = configName(system);
  const data = { username: user, apiKey };
  await people.create(Secret, {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: ground.namespace, name }, type: 'Opaque' },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  });
  const config = renaming.of(pattern.config) as unknown as { spec: Record<string, object>; status: object };
  Object.assign(config.spec['network'] ?? {}, networkSectionOf(system));
  Object.assign(config.spec['truenas'] ?? {}, { caBundle: ca, credentialsRef: { name } });
  Object.assign(config.status, { clusters: clustersOnSystem(system, clusters) });
  await createWithStatus(people, provider, ProviderConfig, config as unknown as ProviderConfig);
  await provider.apply(ClusterProfile, renaming.of(pattern.profile));
}

async function seedCluster(people: KubeClient, provider: KubeClient, ground: FleetSeed, number: number): Promise<void> {
  const { pattern } = ground;
  const renaming = substitutionFor(ground, number);
  const { system, index } = placementOf(number);
  const { uid = '' } = (await createWithStatus(people, provider, Cluster, renaming.of(pattern.cluster))).metadata;
  const before = pattern.machines[0]?.spec.clusterRef.uid ?? '';
  const owned = <T>(object: T): T => JSON.parse(JSON.stringify(renaming.of(object)).replaceAll(before, uid)) as T;
  for (const lease of owned(pattern.leases)) await provider.create(Lease, lease);
  const secret = owned(pattern.secret);
  const bundle = Buffer.from(ground.bundles[number] ?? '').toString('base64');
  await provider.create(Secret, { ...secret, data: { [secretsBundleKey]: bundle } });
  const ids = vmIdMapper(
    pattern.nas.vms.map(({ id }) => id),
    index,
  );
  const { imageModified, imageChanged } = ground.systems.systems[system] as SystemsReady['systems'][number];
  for (const machine of owned(pattern.machines)) {
    const facts = machine.status?.progress?.facts ?? {};
    Object.assign(facts, { vmId: ids(Number(facts['vmId'])), imageModified, imageChanged });
    await createWithStatus(provider, provider, Machine, machine);
  }
}

/** Creates an object with the status that the provider would write. Returns the created object. */
async function createWithStatus<T extends KubeObject & { status?: object }>(
  maker: KubeClient,
  provider: KubeClient,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  const { status, ...rest } = object;
  const made = await maker.create(type, rest as T);
  await provider.merge(type, objectKeyOf(object), { status }, { subresource: 'status' });
  return made;
}
