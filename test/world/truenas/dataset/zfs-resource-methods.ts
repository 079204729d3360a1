import { ArgumentErrors, CallError, errnos } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { defaultedField, requiredField } from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import { childrenOf, computeSpace, type DatasetSpace, isImported, poolNameOf } from '../storage/dataset-files.ts';
import type { TrueNasRelease } from '../versions.ts';
import { zfsResourceDestroyModel, zfsResourceQueryModel } from './dataset-parameters.ts';
import { destroyTree, isBusy } from './delete-dataset.ts';
import { describeDataset } from './describe-dataset.ts';

interface ResourceQuery {
  readonly paths: readonly string[];
  readonly properties: readonly string[] | null;
  readonly get_user_properties: boolean;
  readonly get_children: boolean;
}

/** `zfs.resource.*`: query since 25.10, destroy since 26. */
export function zfsMethods(version: TrueNasRelease): readonly ApiMethod[] {
  const query: ApiMethod = {
    name: 'zfs.resource.query',
    parameters: [{ name: 'data', field: defaultedField(zfsResourceQueryModel, defaults) }],
    access: ['ZFS_RESOURCE_READ'],
    run: ([data], { nas }) => queryResources(nas, data as ResourceQuery),
  };
  const destroy: ApiMethod = {
    name: 'zfs.resource.destroy',
    parameters: [{ name: 'data', field: requiredField(zfsResourceDestroyModel) }],
    access: ['ZFS_RESOURCE_DELETE'],
    run: ([data], { nas }) => destroyResource(nas, data as { path: string; recursive: boolean }),
  };
  return [...(version.hasZfsQuery ? [query] : []), ...(version.hasZfsDestroy ? [destroy] : [])];
}

const defaults = { paths: [], properties: [], get_user_properties: false, get_source: true, nest_results: false };

async function queryResources(nas: NasState, data: ResourceQuery): Promise<Entry[]> {
  const space = computeSpace(nas);
  const there = [...nas.datasets.keys()].filter((id) => isImported(nas, id));
  const named = data.paths.length === 0 ? there : data.paths;
  const missing = named.find((path) => !there.includes(path));
  if (missing !== undefined) throw new CallError(`'${missing}' does not exist`, errnos.ENOENT);
  const below = data.get_children === true ? named.flatMap((path) => childrenOf(nas, path).map(({ id }) => id)) : [];
  return [...new Set([...named, ...below])].flatMap((id) => {
    const dataset = nas.datasets.get(id);
    return dataset ? [describeResource(nas, dataset, space.get(id), data)] : [];
  });
}

function describeResource(
  nas: NasState,
  dataset: NasDataset,
  space: DatasetSpace | undefined,
  data: ResourceQuery,
): Entry {
  const nothing = { own: 0, refreservation: 0, children: 0, used: 0, available: 0 };
  const entry = describeDataset(nas, dataset, space ?? nothing);
  const isWanted = (key: string) =>
    data.properties === null || data.properties.length === 0 || data.properties.includes(key);
  const properties = Object.entries(entry).filter(([key, value]) => isProperty(value) && isWanted(key));
  return {
    name: dataset.id,
    pool: poolNameOf(dataset.id),
    type: dataset.type,
    guid: dataset.createdAt.getTime(),
    createtxg: 1,
    properties: Object.fromEntries(properties.map(([key, value]) => [key, toResourceProperty(value as Entry)])),
    user_properties: data.get_user_properties ? plainUserProperties(entry['user_properties'] as Entry) : null,
    children: null,
  };
}

const isProperty = (value: unknown) => typeof value === 'object' && value !== null && 'rawvalue' in value;

function toResourceProperty(property: Entry): Entry {
  const source = property['source'] === 'NONE' ? null : { type: property['source'], value: property['source_info'] };
  return { raw: property['rawvalue'], value: property['parsed'], source };
}

const plainUserProperties = (properties: Entry) =>
  Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, (value as Entry)['rawvalue']]));

async function destroyResource(
  nas: NasState,
  { path, recursive }: { path: string; recursive: boolean },
): Promise<null> {
  const refusals = new ArgumentErrors();
  const dataset = nas.datasets.get(path);
  const below = childrenOf(nas, path);
  if (!dataset) refusals.add('zfs.resource.destroy', `'${path}' does not exist.`, errnos.ENOENT);
  else if (!path.includes('/')) refusals.add('zfs.resource.destroy', `'${path}' is a pool and cannot be destroyed.`);
  else if (below.length > 0 && !recursive) {
    const message = `'${path}' has children. Set recursive=True to remove them.`;
    refusals.add('zfs.resource.destroy', message, errnos.ENOTEMPTY);
  } else if ([dataset, ...below].some((one) => isBusy(nas, one))) {
    refusals.add('zfs.resource.destroy', `'${path}' is busy.`, errnos.EBUSY);
  }
  refusals.check();
  if (dataset) await destroyTree(nas, dataset);
  return null;
}
