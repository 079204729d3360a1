import { runKeyedLoop } from '../controllers/loop.ts';
import { asArray, asObject, asText, canonicalJson, type JsonObject } from '../json.ts';
import { cleanupFinalizer, deleteStored, removeStoredFinalizer } from '../storage/delete-object.ts';
import { conditionStatusOf, definitionStorage } from '../storage/resource-registry.ts';
import { type ApiObject, nowSeconds, type ObjectStorage } from '../storage/store.ts';

/** Accepts names, establishes definitions and cleans up after deleted ones, like the API server. */
export function runDefinitionController(storage: ObjectStorage): () => void {
  return runKeyedLoop(
    storage,
    (change) => {
      if (change.storage === definitionStorage) {
        // Another definition may wait for released names.
        return change.type === 'DELETED'
          ? storage.all(definitionStorage).map((d) => d.metadata.name)
          : [change.object.metadata.name];
      }
      if (change.type !== 'DELETED' || !change.storage.includes('.')) return [];
      return storage
        .all(definitionStorage)
        .filter((d) => d.metadata.deletionTimestamp !== undefined && tableOf(d) === change.storage)
        .map((d) => d.metadata.name);
    },
    (name) => {
      const definition = storage.read(definitionStorage, undefined, name);
      if (!definition) return;
      if (definition.metadata.deletionTimestamp) cleanUp(storage, definition);
      else establish(storage, definition);
    },
    storage.all(definitionStorage).map((definition) => definition.metadata.name),
  );
}

const specOf = (definition: ApiObject): JsonObject => asObject(definition['spec']);
const tableOf = (definition: ApiObject): string =>
  `${asText(specOf(definition)['group'])}/${asText(asObject(specOf(definition)['names'])['plural'])}`;

function establish(storage: ObjectStorage, definition: ApiObject): void {
  const status = asObject(definition['status']);
  const names = asObject(specOf(definition)['names']);
  const accepted = asObject(status['acceptedNames']);
  const conflict = conflictOf(storage, definition);
  const current = asArray(specOf(definition)['versions'])
    .map(asObject)
    .flatMap((version) => (version['storage'] === true ? [asText(version['name'])] : []));
  const isEstablished = conditionStatusOf(definition, 'Established') === 'True';
  const next: JsonObject = {
    acceptedNames: conflict ? accepted : names,
    conditions: [
      conflict
        ? condition(status, 'NamesAccepted', 'False', conflict.reason, conflict.message)
        : condition(status, 'NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'),
      conflict && !isEstablished
        ? condition(status, 'Established', 'False', 'NotAccepted', 'not all names are accepted')
        : condition(status, 'Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    storedVersions: [...new Set([...asArray(status['storedVersions']).map(String), ...current])],
  };
  if (canonicalJson(next) === canonicalJson(status)) return;
  storage.write(definitionStorage, { ...definition, metadata: { ...definition.metadata }, status: next });
}

/** Two definitions of one group may not share a kind, a singular or a short name. */
function conflictOf(storage: ObjectStorage, definition: ApiObject): { reason: string; message: string } | undefined {
  const names = asObject(specOf(definition)['names']);
  const others = storage
    .all(definitionStorage)
    .filter((other) => other.metadata.name !== definition.metadata.name)
    .filter((other) => specOf(other)['group'] === specOf(definition)['group'])
    .map((other) => asObject(asObject(other['status'])['acceptedNames']));
  const plurals = new Set(
    others.flatMap((other) => [other['plural'], other['singular'], ...asArray(other['shortNames'])]),
  );
  const kinds = new Set(others.flatMap((other) => [other['kind'], other['listKind']]));
  const use = (name: unknown): string => `${JSON.stringify(name)} is already in use`;
  // The API server checks all and keeps the last conflict.
  if (kinds.has(names['listKind'])) return { reason: 'ListKindConflict', message: use(names['listKind']) };
  if (kinds.has(names['kind'])) return { reason: 'KindConflict', message: use(names['kind']) };
  const short = asArray(names['shortNames']).find((name) => plurals.has(name));
  if (short) return { reason: 'ShortNamesConflict', message: use(short) };
  if (plurals.has(names['singular'])) return { reason: 'SingularConflict', message: use(names['singular']) };
  return undefined;
}

function condition(status: JsonObject, type: string, state: string, reason: string, message: string): JsonObject {
  const known = asArray(status['conditions'])
    .map(asObject)
    .find((one) => one['type'] === type);
  if (known?.['status'] === state && known['reason'] === reason) return known;
  const lastTransitionTime = known?.['status'] === state ? known['lastTransitionTime'] : nowSeconds();
  return { lastTransitionTime, message, reason, status: state, type };
}

function cleanUp(storage: ObjectStorage, definition: ApiObject): void {
  if (!(definition.metadata.finalizers ?? []).includes(cleanupFinalizer)) return;
  const table = tableOf(definition);
  for (const object of storage.all(table)) {
    if (!object.metadata.deletionTimestamp) deleteStored(storage, table, object, { dryRun: false });
  }
  const current = storage.read(definitionStorage, undefined, definition.metadata.name);
  if (storage.all(table).length === 0 && current)
    removeStoredFinalizer(storage, definitionStorage, current, cleanupFinalizer);
}
