import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeWithCrds, startKubeWithCrds } from '../../../../../test/support/harness/kube-with-crds.ts';
import { isNotFound } from '../../../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../../kube/resource.ts';
import { parseInventoryKey, toInventoryKey } from './inventory.ts';
import { proxyVersionOf, sortManifests } from './read-manifests.ts';
import { type ManifestSync, syncManifests } from './sync-manifests.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const ConfigMap: ResourceType<ConfigMap> = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
};
const namespace = 'kube-system';
const inventoryKey = { namespace, name: 'talos-bootstrap-manifests-inventory' };
const annotation = 'config.k8s.io/owning-inventory';

const aConfigMap = (name: string, value: string, annotations = {}): ConfigMap => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { value } },
  metadata: { name, namespace, ...(Object.keys(annotations).length > 0 && { annotations }) },
});
const aRole = (name: string): KubeObject => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name } },
  ...{ rules: [] },
});

let cluster: KubeWithCrds;
beforeAll(async () => {
  cluster = await startKubeWithCrds();
});
afterAll(() => cluster.close());

const { signal } = new AbortController();
const sync = (objects: readonly KubeObject[], more: Partial<ManifestSync> = {}) =>
  syncManifests({ client: cluster.kube, objects, hasInventory: true, signal, ...more });
const find = (name: string) => cluster.kube.find(ConfigMap, { namespace, name }, signal);
const readKeys = async () => Object.keys((await cluster.kube.get(ConfigMap, inventoryKey, signal)).data ?? {}).sort();

describe('D17: the bootstrap manifests after an upgrade', () => {
  it('are applied, listed in the inventory of Talos, and deleted only when they have dropped out', async () => {
    const [first, second, role] = [aConfigMap('one', '1'), aConfigMap('two', '2'), aRole('system:kube-proxy')];
    expect(await sync([first, second, role])).toEqual({ applied: 3, pruned: [], problems: [] });
    expect((await find('one'))?.metadata.annotations).toEqual({ [annotation]: inventoryKey.name });
    const keys = [
      '_system__kube-proxy_rbac.authorization.k8s.io_ClusterRole',
      'kube-system_one__ConfigMap',
      'kube-system_two__ConfigMap',
    ];
    expect(await readKeys()).toEqual(keys);
    expect(await sync([aConfigMap('one', 'new'), role], { others: [second] })).toMatchObject({ pruned: [] });
    const report = await sync([aConfigMap('one', 'new'), role]);
    expect(report).toEqual({ applied: 2, pruned: ['ConfigMap kube-system/two'], problems: [] });
    expect((await find('one'))?.data).toEqual({ value: 'new' });
    expect(await find('two')).toBeUndefined();
    expect(await readKeys()).toEqual(keys.slice(0, 2));
  });

  it('are not written again when nothing differs', async () => {
    await sync([aConfigMap('same', '1')]);
    const before = (await find('same'))?.metadata.resourceVersion;
    await sync([aConfigMap('same', '1')]);
    expect((await find('same'))?.metadata.resourceVersion).toBe(before);
  });

  it('replace what somebody else has changed', async () => {
    await sync([aConfigMap('edited', '1')]);
    await cluster.kube.merge(
      ConfigMap,
      { namespace, name: 'edited' },
      { data: { value: 'by hand', own: 'x' } },
      {},
      signal,
    );
    await sync([aConfigMap('edited', '1')]);
    expect((await find('edited'))?.data).toEqual({ value: '1', own: 'x' });
  });

  it('delete nothing after an error, and name the object', async () => {
    await sync([aConfigMap('kept', '1')]);
    const foreign = { [annotation]: 'other' };
    await cluster.kube.create(ConfigMap, aConfigMap('foreign', '1', foreign), signal);
    const unknown = { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name: 'w' } };
    const { problems, pruned } = await sync([aConfigMap('foreign', '2'), unknown]);
    expect(pruned).toEqual([]);
    expect(problems).toEqual([
      'ConfigMap kube-system/foreign: it belongs to another inventory',
      'Widget w: the cluster does not have the kind Widget of example.org/v1',
    ]);
    expect(await find('kept')).toBeDefined();
    expect((await find('foreign'))?.data).toEqual({ value: '1' });
  });

  it('never delete a Namespace', async () => {
    const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'extra' } };
    await sync([space]);
    expect(await sync([aConfigMap('one', '1')])).toMatchObject({ problems: [] });
    const Namespace = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
    expect(await cluster.kube.find(Namespace, { name: 'extra' }, signal)).toBeDefined();
    expect(await readKeys()).toContain('_extra__Namespace');
  });

  it('have no inventory before Talos 1.13, and nothing is deleted', async () => {
    await cluster.kube.remove(ConfigMap, inventoryKey, {}, signal);
    await sync([aConfigMap('old', '1')], { hasInventory: false });
    await sync([], { hasInventory: false });
    expect((await find('old'))?.metadata.annotations).toBeUndefined();
    await expect(cluster.kube.get(ConfigMap, inventoryKey, signal)).rejects.toSatisfy(isNotFound);
  });
});

describe('the keys of the inventory', () => {
  it.each([
    { group: '', kind: 'ConfigMap', namespace: 'kube-system', name: 'a' },
    { group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', namespace: '', name: 'system:a:b' },
    { group: 'apps', kind: 'DaemonSet', namespace: 'x', name: 'kube-proxy' },
  ])('are read as they were written: $kind $name', (id) => {
    expect(parseInventoryKey(toInventoryKey(id))).toEqual(id);
  });

  it.each(['', 'a', 'a_b', '_', '__', 'a__b', '_a_'])('"%s" is none', (key) => {
    expect(parseInventoryKey(key)).toBeUndefined();
  });
});

describe('the manifests of a node', () => {
  it('are applied in the order in which they need each other', () => {
    const of = (kind: string): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name: kind } });
    const kinds = ['DaemonSet', 'ConfigMap', 'ClusterRole', 'Deployment', 'Namespace', 'CustomResourceDefinition'];
    expect(sortManifests(kinds.map(of)).map(({ kind }) => kind)).toEqual([
      ...['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'ConfigMap', 'DaemonSet', 'Deployment'],
    ]);
  });

  it('show the version of kube-proxy', () => {
    const proxy = {
      ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'kube-proxy' } },
      spec: { template: { spec: { containers: [{ image: 'registry.k8s.io/kube-proxy:v1.35.2@sha256:aa' }] } } },
    };
    expect(proxyVersionOf([proxy])).toBe('1.35.2');
    expect(proxyVersionOf([])).toBeUndefined();
  });
});
