import type { KubeClient } from '../../../kube/client/client.ts';
import { Namespace, ServiceAccount } from '../../../kube/core-types.ts';
import { isAlreadyExists, isNotFound } from '../../../kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../kube/resource.ts';
import type { AccessObject, AccessObjectSnapshot, TargetConnection } from './access-object-cache.ts';
import { type DesiredAccess, kindKeyText } from './desired-access.ts';
import { type AccessChanges, type PlannedObject, planAccessChanges } from './plan-access-changes.ts';
import { NotManagedError, RejectionCollector, TargetRejectionError } from './rejection-collector.ts';
import { classifyMarkOwner } from './request-mark.ts';

/**
 * Makes the target cluster match the request: creates missing objects, restores changed ones and deletes objects with
 * the request's mark that are not requested any more, even if a new object is rejected. Objects without the mark are
 * not changed. Returns the UID of the account, if one is requested.
 */
export async function ensureAccess(
  connection: TargetConnection,
  access: DesiredAccess,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { refreshSoon } = connection;
  const ensure = (fresh: boolean) =>
    connection.snapshots.during(access.id, { signal, refreshSoon, fresh }, async (read) => {
      try {
        return { uid: await reconcileObjects(connection.client, access, read, signal) };
      } catch (error) {
        // The object may be ours and created after the prefetch.
        if (read.isFresh || !(error instanceof NotManagedError)) throw error;
        return undefined;
      }
    });
  return ((await ensure(false)) ?? (await ensure(true)))?.uid;
}

async function reconcileObjects(
  client: KubeClient,
  access: DesiredAccess,
  { snapshot, isFresh }: AccessObjectSnapshot,
  signal: AbortSignal,
): Promise<string | undefined> {
  const changes = planAccessChanges(access, snapshot);
  try {
    await deleteObjects(client, changes.former, signal);
    if (changes.nameTaken !== undefined) throw new NotManagedError(changes.nameTaken);
    const uid = await applyChanges(client, access.namespaces, changes, signal);
    await deleteObjects(client, changes.unrequested, signal);
    return uid;
  } catch (error) {
    const isFinal = error instanceof TargetRejectionError || (error instanceof NotManagedError && isFresh);
    if (isFinal) await deleteObjects(client, changes.unrequested, signal);
    throw error;
  }
}

/** In the order of the list: bindings and roles first. */
async function deleteObjects(client: KubeClient, all: readonly AccessObject[], signal: AbortSignal): Promise<void> {
  for (const { type, object } of all) await client.remove(type, objectKeyOf(object), uidPrecondition(object), signal);
}

async function applyChanges(
  client: KubeClient,
  namespaces: DesiredAccess['namespaces'],
  { account, objects }: AccessChanges,
  signal: AbortSignal,
): Promise<string | undefined> {
  const rejections = new RejectionCollector();
  for (const { name, from } of namespaces) {
    await rejections.collect(from, `Namespace ${name}`, () => ensureNamespace(client, name, signal));
  }
  const present = account && (await applyAccount(client, account, signal));
  for (const planned of objects) {
    await rejections.collect(planned.from, kindKeyText(planned), () => applyChange(client, planned, signal));
  }
  rejections.raise();
  return present?.metadata.uid;
}

/** The namespace of accounts nearly always exists, so it is created only after the account fails with NotFound. */
async function applyAccount(client: KubeClient, planned: PlannedObject, signal: AbortSignal): Promise<KubeObject> {
  try {
    return await applyChange(client, planned, signal);
  } catch (error) {
    if (planned.change.kind !== 'create' || !isNotFound(error)) throw error;
    await ensureNamespace(client, planned.object.metadata.namespace ?? '', signal);
    return await createObject(client, planned, signal);
  }
}

async function applyChange(client: KubeClient, planned: PlannedObject, signal: AbortSignal): Promise<KubeObject> {
  const { type, change } = planned;
  switch (change.kind) {
    case 'keep':
      return change.found;
    case 'create':
      return await createObject(client, planned, signal);
    case 'replace':
      await client.remove(type, objectKeyOf(change.found), uidPrecondition(change.found), signal);
      return await createObject(client, planned, signal);
    case 'patch':
      return await client.merge(type, objectKeyOf(change.found), change.patch, {}, signal);
  }
}

async function createObject(
  client: KubeClient,
  planned: { readonly type: ResourceType; readonly object: KubeObject },
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    return await client.create(planned.type, planned.object, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new NotManagedError(
      `${kindKeyText(planned)} exists in the cluster and is not managed by this AccessRequest. Remove it, or choose another name.`,
    );
  }
}

async function ensureNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  if (await client.find(Namespace, { name }, signal)) return;
  try {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

const uidPrecondition = (object: KubeObject): { uid?: string } =>
  object.metadata.uid ? { uid: object.metadata.uid } : {};

/** Identifies the objects of a request. */
type RequestMark = Pick<DesiredAccess, 'id' | 'request'>;

/** Deletes all objects with the request's mark, bindings and roles first. Namespaces stay. */
export async function revokeAccess(
  connection: TargetConnection,
  mark: RequestMark,
  signal: AbortSignal,
): Promise<void> {
  await deleteMarked(connection, mark, signal, () => true);
}

/** The same without the account: it has no rights then, and gets new ones if the request asks for them later. */
export async function revokeRoles(connection: TargetConnection, mark: RequestMark, signal: AbortSignal): Promise<void> {
  await deleteMarked(connection, mark, signal, (type) => type !== ServiceAccount);
}

async function deleteMarked(
  connection: TargetConnection,
  { id, request }: RequestMark,
  signal: AbortSignal,
  isMeant: (type: ResourceType) => boolean,
): Promise<void> {
  const { client, snapshots, refreshSoon } = connection;
  await snapshots.during(id, { signal, refreshSoon, fresh: true }, async ({ snapshot }) => {
    const own = snapshot.filter(({ type, object }) => isMeant(type) && classifyMarkOwner(object, request) !== 'other');
    await deleteObjects(client, own, signal);
  });
}
