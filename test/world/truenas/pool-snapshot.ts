import { CallError, errnos, notFound, Refusals } from './errors.ts';
import type { Method } from './method.ts';
import {
  bool,
  list,
  nonEmpty,
  object,
  optional,
  type Parameter,
  record,
  required,
  text,
  withDefault,
} from './model.ts';
import type { Nas, Snapshot } from './nas.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters, textId } from './query.ts';
import { cloneSnapshot, dropSnapshot, rollBack, snapshotsOf, takeSnapshot } from './snapshots.ts';
import { childrenOf, poolOf } from './storage.ts';
import type { Version } from './versions.ts';
import { takeSnapshotAtRest } from './vm-snapshot.ts';

const creation = {
  dataset: required(nonEmpty),
  name: optional(nonEmpty),
  naming_schema: optional(nonEmpty),
  recursive: withDefault(bool, false),
  exclude: withDefault(list(text()), []),
  vmware_sync: withDefault(bool, false),
  properties: withDefault(record, {}),
};
const clone = object({
  snapshot: required(nonEmpty),
  dataset_dst: required(nonEmpty),
  dataset_properties: withDefault(record, {}),
});
const byId: Parameter = { name: 'id', field: required(nonEmpty) };
const flags = (...names: readonly string[]): Parameter => {
  const fields = Object.fromEntries(names.map((name) => [name, withDefault(bool, false)]));
  return {
    name: 'options',
    field: withDefault(object(fields), Object.fromEntries(names.map((name) => [name, false]))),
  };
};

/** `pool.snapshot.*`, which 25.04 calls `zfs.snapshot.*`. */
export function snapshotMethods(version: Version): readonly Method[] {
  const name = (method: string) => `${version.snapshotService}.${method}`;
  const create = object({
    ...creation,
    ...(version.suspendsForSnapshots ? { suspend_vms: withDefault(bool, false) } : {}),
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
      parameters: [{ name: 'data', field: required(create) }],
      access: ['SNAPSHOT_WRITE'],
      run: ([data], { nas }) => createSnapshot(nas, data as Entry),
    },
    {
      name: name('delete'),
      parameters: [byId, flags('defer', 'recursive')],
      access: ['SNAPSHOT_DELETE'],
      run: ([id, options], { nas }) => deleteSnapshot(nas, id, (options as { recursive: boolean }).recursive),
    },
    {
      name: name('clone'),
      parameters: [{ name: 'data', field: required(clone) }],
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
      parameters: [byId, flags('recursive', 'recursive_clones', 'force', 'recursive_rollback')],
      access: ['SNAPSHOT_WRITE', 'POOL_WRITE'],
      run: async ([id, options], { nas }) => {
        await rollBack(nas, getSnapshot(nas, id), (options as { recursive: boolean }).recursive);
        return null;
      },
    },
    ...['hold', 'release'].map((method) => ({
      name: name(method),
      parameters: [byId, flags('recursive')],
      access: ['SNAPSHOT_WRITE'],
      run: ([id]: readonly unknown[], { nas }: { nas: Nas }) => {
        getSnapshot(nas, id).isHeld = method === 'hold';
        return null;
      },
    })),
  ];
}

function getSnapshot(nas: Nas, id: unknown): Snapshot {
  const snapshot = nas.snapshots.get(String(id));
  if (!snapshot) throw notFound('PoolSnapshot', id);
  return snapshot;
}

async function createSnapshot(nas: Nas, data: Entry): Promise<Entry> {
  const refusals = new Refusals();
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

async function deleteSnapshot(nas: Nas, id: unknown, recursive: boolean): Promise<true> {
  const snapshot = getSnapshot(nas, id);
  const below = recursive ? childrenOf(nas, snapshot.dataset).flatMap((child) => snapshotsOf(nas, child.id)) : [];
  for (const one of [...below.filter(({ name }) => name === snapshot.name), snapshot]) await dropSnapshot(nas, one);
  nas.events.emit({ collection: `${nas.version.snapshotService}.query`, msg: 'removed', id });
  return true;
}

function describe({ id, dataset, name, transaction, createdAt }: Snapshot): Entry {
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
    pool: poolOf(dataset),
    name: id,
    type: 'SNAPSHOT',
    snapshot_name: name,
    dataset,
    createtxg: String(transaction),
  };
}
