import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ClusterConfig } from '../../src/api/cluster-config.ts';
import type { Cluster } from '../../src/api/openmcp.ts';
import type { ProviderConfig } from '../../src/api/provider-config.ts';
import { wishOf } from '../../src/controllers/spec/wish.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { Store } from '../../src/kube/store.ts';
import { platforms } from '../../src/platforms/index.ts';
import { read } from './tree.ts';

function sample<T extends KubeObject>(file: string, kind: string): T {
  const objects = parseAllDocuments(read(`config/samples/${file}.yaml`)).map((one) => one.toJS() as T);
  const found = objects.find((one) => one.kind === kind);
  if (!found) throw new Error(`${file} has no ${kind}`);
  return found;
}

test('the samples fit each other: the Cluster with the ClusterConfig, on the ProviderConfig', () => {
  const config = sample<ProviderConfig>('truenas', 'ProviderConfig');
  const different = sample<ClusterConfig>('clusterconfig', 'ClusterConfig');
  const cluster = sample<Cluster>('cluster', 'Cluster');
  expect(different.metadata.namespace).toBe(cluster.metadata.namespace);
  const clusterConfigs = new Store<ClusterConfig>();
  clusterConfigs.put(different);
  const spec = { ...cluster.spec, clusterConfigs: [{ name: different.metadata.name }] };
  const wish = wishOf({ platforms, stores: { clusterConfigs } as never }, config, { ...cluster, spec });
  expect(wish).toHaveProperty('spec.workerPools.0.name', 'fast');
});
