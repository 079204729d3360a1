import { type FieldError, fieldError } from './errors.ts';
import { asArray, asObject, asText, type JsonObject } from './json.ts';
import { definitionStorage } from './registry.ts';
import { type ApiObject, now, type Storage } from './store.ts';

/** Fills in what a definition leaves out; on a status that does not exist yet, the first one. */
export function prepareDefinition(object: ApiObject, old: ApiObject | undefined): void {
  const spec = { ...asObject(object['spec']) };
  const names = { ...asObject(spec['names']) };
  names['singular'] ??= asText(names['kind']).toLowerCase();
  names['listKind'] ??= `${asText(names['kind'])}List`;
  spec['names'] = names;
  spec['conversion'] ??= { strategy: 'None' };
  object['spec'] = spec;
  if (old) return;
  object.metadata.finalizers = [
    ...new Set([...(object.metadata.finalizers ?? []), 'customresourcecleanup.apiextensions.k8s.io']),
  ];
  const storage = asArray(spec['versions'])
    .map(asObject)
    .find((version) => version['storage'] === true);
  object['status'] = {
    conditions: [],
    acceptedNames: { plural: '', kind: '' },
    storedVersions: storage ? [asText(storage['name'])] : [],
  };
}

export function checkDefinition(object: ApiObject, _old: ApiObject | undefined): FieldError[] {
  const spec = asObject(object['spec']);
  const names = asObject(spec['names']);
  const wanted = `${asText(names['plural'])}.${asText(spec['group'])}`;
  if (object.metadata.name !== wanted) {
    return [fieldError.invalid('metadata.name', object.metadata.name, 'must be spec.names.plural+"."+spec.group')];
  }
  return [];
}

/** Accepts names, establishes definitions and cleans up behind deleted ones, as the API server itself does. */
export function runDefinitions(storage: Storage): () => void {
  const look = (object: ApiObject): void => {
    const { name } = object.metadata;
    setImmediate(() => {
      settleDefinition(storage, name);
    });
  };
  for (const definition of storage.all(definitionStorage)) look(definition);
  return storage.onChange((change) => {
    if (change.storage === definitionStorage && change.type !== 'DELETED') look(change.object);
    else if (change.type === 'DELETED') {
      const definition = storage
        .all(definitionStorage)
        .find((d) => d.metadata.deletionTimestamp && storageName(d) === change.storage);
      if (definition) look(definition);
    }
  });
}

const storageName = (definition: ApiObject): string => {
  const spec = asObject(definition['spec']);
  return `${asText(spec['group'])}/${asText(asObject(spec['names'])['plural'])}`;
};

function settleDefinition(storage: Storage, name: string): void {
  const found = storage.read(definitionStorage, undefined, name);
  if (!found) return;
  if (found.metadata.deletionTimestamp) cleanUp(storage, found);
  else establish(storage, found);
}

function establish(storage: Storage, definition: ApiObject): void {
  const spec = asObject(definition['spec']);
  const status = asObject(definition['status']);
  const stored = asArray(status['storedVersions']).map(String);
  const current = asArray(spec['versions'])
    .map(asObject)
    .filter((version) => version['storage'] === true)
    .map((version) => asText(version['name']));
  const next: JsonObject = {
    ...status,
    acceptedNames: spec['names'],
    storedVersions: [...new Set([...stored, ...current])],
    conditions: [
      condition(status, 'NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition(status, 'Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
  };
  if (JSON.stringify(next) === JSON.stringify(status)) return;
  storage.write(definitionStorage, { ...structuredClone(definition), status: structuredClone(next) });
}

function condition(status: JsonObject, type: string, reason: string, message: string): JsonObject {
  const known = asArray(status['conditions'])
    .map(asObject)
    .find((c) => c['type'] === type && c['status'] === 'True');
  return known ?? { lastTransitionTime: now(), message, reason, status: 'True', type };
}

const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

function cleanUp(storage: Storage, definition: ApiObject): void {
  const finalizers = definition.metadata.finalizers ?? [];
  if (!finalizers.includes(cleanupFinalizer)) return;
  const table = storageName(definition);
  for (const object of storage.all(table)) {
    const { namespace, name } = object.metadata;
    if ((object.metadata.finalizers ?? []).length === 0) storage.erase(table, namespace, name);
    else if (!object.metadata.deletionTimestamp) {
      storage.write(table, {
        ...structuredClone(object),
        metadata: { ...structuredClone(object.metadata), deletionTimestamp: now(), deletionGracePeriodSeconds: 0 },
      });
    }
  }
  if (storage.all(table).length > 0) return;
  const left = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
  const { name } = definition.metadata;
  if (left.length === 0) storage.erase(definitionStorage, undefined, name);
  else {
    storage.write(definitionStorage, {
      ...structuredClone(definition),
      metadata: { ...structuredClone(definition.metadata), finalizers: left },
    });
  }
}
