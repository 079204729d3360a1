import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ClusterConfig } from '../../src/api/cluster-config.ts';
import { type Host, HostSpec } from '../../src/api/host.ts';
import type { Cluster } from '../../src/api/openmcp/types.ts';
import type { ProviderConfig } from '../../src/api/provider-config.ts';
import { choosePlatform } from '../../src/controllers/shared/spec/choose-platform.ts';
import { resolveDesiredSpec } from '../../src/controllers/shared/spec/desired-spec.ts';
import { parseSpec } from '../../src/controllers/shared/spec/parse-spec.ts';
import { validateSpec } from '../../src/controllers/shared/spec/validate-spec.ts';
import { ObjectStore } from '../../src/kube/reflector/object-store.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { platforms } from '../../src/platforms/index.ts';
import { readProjectFile } from './source-tree.ts';

function sample<T extends KubeObject>(file: string, kind: string): T {
  const objects = parseAllDocuments(readProjectFile(`config/samples/${file}.yaml`)).map((one) => one.toJS() as T);
  const found = objects.find((one) => one.kind === kind);
  if (!found) throw new Error(`${file} has no ${kind}`);
  return found;
}

test('the samples fit each other: the Cluster with the ClusterConfig, on the ProviderConfig', () => {
  const config = sample<ProviderConfig>('truenas', 'ProviderConfig');
  const different = sample<ClusterConfig>('clusterconfig', 'ClusterConfig');
  const cluster = sample<Cluster>('cluster', 'Cluster');
  expect(different.metadata.namespace).toBe(cluster.metadata.namespace);
  const clusterConfigs = new ObjectStore<ClusterConfig>();
  clusterConfigs.put(different);
  const spec = { ...cluster.spec, clusterConfigs: [{ name: different.metadata.name }] };
  const desired = resolveDesiredSpec({ platforms, stores: { clusterConfigs } as never }, config, { ...cluster, spec });
  expect(desired).toHaveProperty('spec.workerPools.0.name', 'fast');
});

test('the sample of a Host stays in maintenance until a user releases it', () => {
  const { spec } = sample<Host>('host', 'Host');
  expect(HostSpec.parse(spec)).toMatchObject({ maintenance: true, wipe: false });
});

test('the sample of a ProviderConfig for bare servers supports Clusters', () => {
  const config = sample<ProviderConfig>('hetzner-robot', 'ProviderConfig');
  const { metadata, spec, ...cluster } = sample<Cluster>('cluster', 'Cluster');
  const onMetal = { ...cluster, metadata, spec: { ...spec, profile: `demo.talos.${config.metadata.name}` } };
  const desired = resolveDesiredSpec(
    { platforms, stores: { clusterConfigs: new ObjectStore<ClusterConfig>() } as never },
    config,
    onMetal,
  );
  expect(desired).toMatchObject({ spec: { controlPlane: { replicas: 3 }, workerPools: [{ replicas: 1 }] } });
});

test('the sample for bare servers is consistent, and the sample of a Host is one of its servers', () => {
  const parsed = parseSpec(sample<ProviderConfig>('hetzner-robot', 'ProviderConfig'));
  if (!parsed.success) throw parsed.error;
  const chosen = choosePlatform(platforms, parsed.data);
  if (!chosen) throw new Error('it has no section of a platform');
  expect(validateSpec(parsed.data, chosen.section)).toEqual([]);
  const { labels = {} } = sample<Host>('host', 'Host').metadata;
  expect(chosen.platform.hosts?.mayClaim(chosen.config, labels)).toBe(true);
});

test('the sample for clusters of others is consistent, and its Cluster has the profile of it', () => {
  const config = sample<ProviderConfig>('external', 'ProviderConfig');
  const parsed = parseSpec(config);
  if (!parsed.success) throw parsed.error;
  const chosen = choosePlatform(platforms, parsed.data);
  expect(chosen && validateSpec(parsed.data, chosen.section)).toEqual([]);
  expect(chosen?.platform.managedBy(chosen.config)).toBe('the infrastructure team');
  const { spec } = sample<Cluster>('external', 'Cluster');
  expect(spec.profile.endsWith(`.${parsed.data.providerRef.name}.${config.metadata.name}`)).toBe(true);
});
