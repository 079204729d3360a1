import { ArgumentErrors, CallError, errnos, instanceNotFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  listModel,
  type MethodParameter,
  nonEmptyTextModel,
  objectModel,
  optionalField,
  requiredField,
  textModel,
} from '../middleware/parameter-model.ts';
import {
  applyQuery,
  type Entry,
  instanceParameters,
  type QueryOptions,
  queryParameters,
  textId,
} from '../middleware/query.ts';
import type { NasSnapshot, NasState } from '../nas-state.ts';
import type { TrueNasRelease } from '../versions.ts';
import { takeSnapshotAtRest } from '../vm/snapshot-at-rest.ts';
import { childrenOf, poolNameOf } from './dataset-files.ts';
import { cloneSnapshot, destroySnapshot, rollBackToSnapshot, snapshotsOf, takeSnapshot } from './snapshots.ts';

const creation = {
  dataset: requiredField(nonEmptyTextModel),
  name: optionalField(nonEmptyTextModel),
  naming_schema: optionalField(nonEmptyTextModel),
  recursive: defaultedField(booleanModel, false),
  exclude: defaultedField(listModel(textModel()), []),
  vmware_sync: defaultedField(booleanModel, false),
  properties: defaultedField(dictionaryModel, {}),
};
const clone = objectModel({
  snapshot: requiredField(nonEmptyTextModel),
  dataset_dst: requiredField(nonEmptyTextModel),
  dataset_properties: defaultedField(dictionaryModel, {}),
});
const byId: MethodParameter = { name: 'id', field: requiredField(nonEmptyTextModel) };
const flagsParameter = (...names: readonly string[]): MethodParameter => {
  const fields = Object.fromEntries(names.map((name) => [name, defaultedField(booleanModel, false)]));
  return {
    name: 'options',
    field: defaultedField(objectModel(fields), Object.fromEntries(names.map((name) => [name, false]))),
  };
};

/** `pool.snapshot.*`, which 25.04 calls `zfs.snapshot.*`. */
export function snapshotMethods(version: TrueNasRelease): readonly ApiMethod[] {
  const name = (method: string) => `${version.snapshotService}.${method}`;
  const create = objectModel({
    ...creation,
    ...(version.suspendsForSnapshots ? { suspend_vms: defaultedField(booleanModel, false) } : {}),
  });
  return [
    {
      name: name('query'),
      parameters: queryParameters,
      access: ['SNAPSHOT_READ'],
      run: ([filters, options], { nas }) =>
        applyQuery([...nas.snapshots.values()].map(describe), filters, options as QueryOptions),
    },
    {
      name: name('get_instance'),
      parameters: instanceParameters(textId),
      access: ['SNAPSHOT_READ'],
      run: ([id], { nas }) => describe(getSnapshot(nas, id)),
    },
    {
      name: name('create'),
      parameters: [{ name: 'data', field: requiredField(create) }],
      access: ['SNAPSHOT_WRITE'],
      run: ([data], { nas }) => createSnapshot(nas, data as Entry),
    },
    {
      name: name('delete'),
      parameters: [byId, flagsParameter('defer', 'recursive')],
      access: ['SNAPSHOT_DELETE'],
      run: ([id, options], { nas }) => deleteSnapshot(nas, id, (options as { recursive: boolean }).recursive),
    },
    {
      name: name('clone'),
      parameters: [{ name: 'data', field: requiredField(clone) }],
      access: ['SNAPSHOT_WRITE', 'DATASET_WRITE'],
      run: async ([data], { nas }) => {
        const { snapshot: id, dataset_dst: to } = data as { snapshot: string; dataset_dst: string };
        const snapshot = nas.snapshots.get(id);
        if (!snapshot) throw new CallError(`Failed to clone snapshot: Snapshot ${id} not found`);
        await cloneSnapshot(nas, snapshot, to);
        return true;
      },
    },
    {
      name: name('rollback'),
      parameters: [byId, flagsParameter('recursive', 'recursive_clones', 'force', 'recursive_rollback')],
      access: ['SNAPSHOT_WRITE', 'POOL_WRITE'],
      run: async ([id, options], { nas }) => {
        await rollBackToSnapshot(nas, getSnapshot(nas, id), (options as { recursive: boolean }).recursive);
        return null;
      },
    },
    ...['hold', 'release'].map((method) => ({
      name: name(method),
      parameters: [byId, flagsParameter('recursive')],
      access: ['SNAPSHOT_WRITE'],
      run: ([id]: readonly unknown[], { nas }: { nas: NasState }) => {
        getSnapshot(nas, id).isHeld = method === 'hold';
        return null;
      },
    })),
  ];
}

function getSnapshot(nas: NasState, id: unknown): NasSnapshot {
  const snapshot = nas.snapshots.get(String(id));
  if (!snapshot) throw instanceNotFound('PoolSnapshot', id);
  return snapshot;
}

async function createSnapshot(nas: NasState, data: Entry): Promise<Entry> {
  const refusals = new ArgumentErrors();
  const at = 'snapshot_create';
  const name = data['name'] ?? data['naming_schema'];
  if (data['name'] && data['naming_schema']) {
    refusals.add(`${at}.naming_schema`, "You can't specify name and naming schema at the same time");
  } else if (!name) refusals.add(`${at}.naming_schema`, 'You must specify either name or naming schema');
  else if (!/^[A-Za-z0-9_.:% -]+$/.test(String(name))) refusals.add(`${at}.name`, 'Invalid snapshot name');
  if ((data['exclude'] as unknown[]).length > 0 && data['recursive'] !== true) {
    refusals.add(`${at}.exclude`, 'This option has no sense for non-recursive snapshots');
  }
  refusals.check();
  const dataset = String(data['dataset']);
  if (!nas.datasets.has(dataset)) {
    throw new CallError(`Failed to snapshot ${dataset}@${name}: dataset does not exist`);
  }
  if (nas.version.suspendsForSnapshots && nas.snapshots.has(`${dataset}@${name}`)) {
    refusals.add('pool.snapshot.create', `${name} already exists.`, errnos.EEXIST);
    refusals.check();
  }
  const take = data['suspend_vms'] === true ? takeSnapshotAtRest : takeSnapshot;
  const entry = describe(await take(nas, dataset, String(name), data['recursive'] === true));
  nas.events.emit({ collection: `${nas.version.snapshotService}.query`, msg: 'added', id: entry['id'], fields: entry });
  return entry;
}

async function deleteSnapshot(nas: NasState, id: unknown, recursive: boolean): Promise<true> {
  const snapshot = getSnapshot(nas, id);
  const below = recursive ? childrenOf(nas, snapshot.dataset).flatMap((child) => snapshotsOf(nas, child.id)) : [];
  for (const one of [...below.filter(({ name }) => name === snapshot.name), snapshot]) await destroySnapshot(nas, one);
  nas.events.emit({ collection: `${nas.version.snapshotService}.query`, msg: 'removed', id });
  return true;
}

function describe({ id, dataset, name, transaction, createdAt }: NasSnapshot): Entry {
  const seconds = Math.floor(createdAt.getTime() / 1000);
  const property = (rawvalue: string, parsed: unknown) => ({ value: rawvalue, rawvalue, source: 'NONE', parsed });
  return {
    id,
    properties: {
      createtxg: property(String(transaction), String(transaction)),
      creation: property(String(seconds), { $date: seconds * 1000 }),
      used: property('0', 0),
      referenced: property('0', 0),
    },
    pool: poolNameOf(dataset),
    name: id,
    type: 'SNAPSHOT',
    snapshot_name: name,
    dataset,
    createtxg: String(transaction),
  };
}
