import { asArray, asObject, canonicalJson, type JsonObject } from '../json.ts';
import { deleteStored } from '../storage/delete-object.ts';
import { type ApiObject, nowSeconds, type ObjectStorage } from '../storage/store.ts';
import { runKeyedLoop } from './loop.ts';

/** Creates the default objects of new namespaces, and deletes the content of terminating ones. */
export function runNamespaceController(storage: ObjectStorage, rootCa: string): () => void {
  return runKeyedLoop(
    storage,
    (change) => {
      const { name, namespace } = change.object.metadata;
      if (change.storage === 'namespaces') return change.type === 'DELETED' ? [] : [name];
      const isGone = change.type === 'DELETED' || change.object.metadata.deletionTimestamp !== undefined;
      return namespace !== undefined && (isGone || isTerminating(storage, namespace)) ? [namespace] : [];
    },
    (name) => {
      const namespace = storage.read('namespaces', undefined, name);
      if (!namespace) return;
      if (namespace.metadata.deletionTimestamp) emptyNamespace(storage, namespace);
      else createDefaults(storage, name, rootCa);
    },
    storage.all('namespaces').map((namespace) => namespace.metadata.name),
  );
}

const isTerminating = (storage: ObjectStorage, name: string): boolean =>
  storage.read('namespaces', undefined, name)?.metadata.deletionTimestamp !== undefined;

function createDefaults(storage: ObjectStorage, namespace: string, rootCa: string): void {
  if (!storage.read('serviceaccounts', namespace, 'default')) {
    storage.put({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
  }
  if (!storage.read('configmaps', namespace, 'kube-root-ca.crt')) {
    storage.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'kube-root-ca.crt',
        namespace,
        annotations: {
          'kubernetes.io/description':
            'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
        },
      },
      data: { 'ca.crt': rootCa },
    });
  }
}

function emptyNamespace(storage: ObjectStorage, namespace: ApiObject): void {
  const { name } = namespace.metadata;
  const left = new Map<string, ApiObject[]>();
  for (const table of storage.tables()) {
    for (const object of storage.all(table, name)) {
      if (!object.metadata.deletionTimestamp) deleteStored(storage, table, object, { dryRun: false });
    }
    const staying = storage.all(table, name);
    if (staying.length > 0) left.set(table, staying);
  }
  const current = storage.read('namespaces', undefined, name);
  if (!current) return;
  if (left.size > 0) {
    reportRemaining(storage, current, left);
    return;
  }
  const finalizers = asArray(asObject(current['spec'])['finalizers']).filter((one) => one !== 'kubernetes');
  const isFree = finalizers.length === 0 && (current.metadata.finalizers ?? []).length === 0;
  if (isFree) storage.erase('namespaces', undefined, name);
  else if (asArray(asObject(current['spec'])['finalizers']).includes('kubernetes')) {
    storage.write('namespaces', { ...structuredClone(current), spec: finalizers.length > 0 ? { finalizers } : {} });
  }
}

/** Sets the namespace's conditions to the remaining content. */
function reportRemaining(
  storage: ObjectStorage,
  namespace: ApiObject,
  left: ReadonlyMap<string, readonly ApiObject[]>,
): void {
  const resourceName = (table: string): string => {
    const [group, plural] = table.includes('/') ? table.split('/') : ['', table];
    return `${plural}.${group}`;
  };
  const counts = [...left].map(([table, objects]) => `${resourceName(table)} has ${objects.length} resource instances`);
  const finalizers = new Map<string, number>();
  for (const object of [...left.values()].flat()) {
    for (const one of object.metadata.finalizers ?? []) finalizers.set(one, (finalizers.get(one) ?? 0) + 1);
  }
  const held = [...finalizers].map(([one, count]) => `${one} in ${count} resource instances`);
  const wanted: [string, string, string, string][] = [
    ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      'False',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    [
      'NamespaceDeletionContentFailure',
      'False',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ],
    [
      'NamespaceContentRemaining',
      'True',
      'SomeResourcesRemain',
      `Some resources are remaining: ${counts.sort().join(', ')}`,
    ],
    [
      'NamespaceFinalizersRemaining',
      held.length > 0 ? 'True' : 'False',
      held.length > 0 ? 'SomeFinalizersRemain' : 'ContentHasNoFinalizers',
      held.length > 0
        ? `Some content in the namespace has finalizers remaining: ${held.sort().join(', ')}`
        : 'All content-preserving finalizers finished',
    ],
  ];
  const status = asObject(namespace['status']);
  const before = asArray(status['conditions']).map(asObject);
  const conditions = wanted.map(([type, state, reason, message]): JsonObject => {
    const known = before.find((one) => one['type'] === type);
    const isSame = known?.['status'] === state && known['reason'] === reason && known['message'] === message;
    return isSame ? known : { type, status: state, lastTransitionTime: nowSeconds(), reason, message };
  });
  if (canonicalJson(conditions) === canonicalJson(before)) return;
  storage.write('namespaces', {
    ...structuredClone(namespace),
    status: { ...status, phase: 'Terminating', conditions },
  });
}
