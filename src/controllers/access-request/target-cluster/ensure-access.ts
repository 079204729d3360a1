import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Namespace, ServiceAccount } from '../../../kube/core-types.ts';
import { isAlreadyExists, isNotFound, isRejection } from '../../../kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../kube/resource.ts';
import {
  type AccessObject,
  type AccessObjectSnapshot,
  accessObjectTypes,
  type TargetConnection,
} from './access-object-cache.ts';
import { type DesiredAccess, type DesiredAccessObject, kindKeyText } from './desired-access.ts';
import { classifyMarkOwner, describeMarkedRequest } from './request-mark.ts';

/** An object of that name exists in the target cluster and has another owner. It is not changed. */
export class NotManagedError extends Error {}

/**
 * The target cluster rejected an object, and rejects it until the request or the cluster changes. The message names the
 * entry.
 */
export class TargetRejectionError extends Error {}

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
    connection.snapshots.during(access.id, { signal, refreshSoon, fresh }, async (look) => {
      try {
        return { uid: await reconcileObjects(connection.client, access, look, signal) };
      } catch (error) {
        // The object may be ours and created after the prefetch.
        if (look.isFresh || !(error instanceof NotManagedError)) throw error;
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
  const of = (owner: ReturnType<typeof classifyMarkOwner>) =>
    snapshot.filter(({ object }) => classifyMarkOwner(object, access.request) === owner);
  const present = new Map(of('own').map((one) => [kindKeyText(one), one.object]));
  try {
    await deleteObjects(client, of('former'), signal);
    assertNamesFree(access, of('other'));
    const uid = await ensureObjects(client, access, present, signal);
    await deleteUnrequested(client, access, present, signal);
    return uid;
  } catch (error) {
    const isFinal = error instanceof TargetRejectionError || (error instanceof NotManagedError && isFresh);
    if (isFinal) await deleteUnrequested(client, access, present, signal);
    throw error;
  }
}

/** Two requests whose names have the same hash need the same account and role names. The first one has them. */
function assertNamesFree({ serviceAccount, objects }: DesiredAccess, others: readonly AccessObject[]): void {
  const account = serviceAccount ? [{ type: ServiceAccount, object: serviceAccount }] : [];
  const wanted = new Set([...account, ...objects].map(kindKeyText));
  const taken = others.find((one) => wanted.has(kindKeyText(one)));
  if (!taken) return;
  throw new NotManagedError(
    `${kindKeyText(taken)} exists in the cluster for ${describeMarkedRequest(taken.object)}, whose name has the same hash. Make this request under another name.`,
  );
}

/** In the order of the list: bindings and roles first. */
async function deleteObjects(client: KubeClient, all: readonly AccessObject[], signal: AbortSignal): Promise<void> {
  for (const { type, object } of all) await client.remove(type, objectKeyOf(object), uidPrecondition(object), signal);
}

type PresentObjects = ReadonlyMap<string, KubeObject>;

async function ensureObjects(
  client: KubeClient,
  access: DesiredAccess,
  present: PresentObjects,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusals = new RejectionCollector();
  for (const { name, from } of access.namespaces) {
    await refusals.collect(from, `Namespace ${name}`, () => ensureNamespace(client, name, signal));
  }
  const account = await ensureServiceAccount(client, access, present, signal);
  for (const wanted of access.objects) {
    const found = present.get(kindKeyText(wanted));
    await refusals.collect(wanted.from, kindKeyText(wanted), () => ensureObject(client, wanted, found, signal));
  }
  refusals.raise();
  return account?.metadata.uid;
}

/**
 * Collects the rejections over all entries of a request, so that the user sees all of them at once. After a rejection
 * nothing more of that entry is created: a binding beside another owner's role of that name would grant its rules.
 */
class RejectionCollector {
  readonly #errors: { readonly from: string; readonly error: NotManagedError | TargetRejectionError }[] = [];

  async collect(from: string, what: string, work: () => Promise<unknown>): Promise<void> {
    if (this.#errors.some((one) => one.from === from || one.from.startsWith(`${from}.`))) return;
    try {
      await withRejectedEntry(from, what, work);
    } catch (error) {
      if (!(error instanceof NotManagedError || error instanceof TargetRejectionError)) throw error;
      this.#errors.push({ from, error });
    }
  }

  /**
   * Throws one error for all. NotManagedError has priority, because it may come from a stale list and cause a retry.
   */
  raise(): void {
    if (this.#errors.length === 0) return;
    const message = this.#errors.map(({ error }) => error.message).join(' ');
    const isManaged = this.#errors.every(({ error }) => !(error instanceof NotManagedError));
    throw isManaged ? new TargetRejectionError(message) : new NotManagedError(message);
  }
}

async function deleteUnrequested(
  client: KubeClient,
  access: DesiredAccess,
  present: PresentObjects,
  signal: AbortSignal,
): Promise<void> {
  const { serviceAccount } = access;
  const account = serviceAccount ? [{ type: ServiceAccount, object: serviceAccount }] : [];
  const keep = new Set([...account, ...access.objects].map(kindKeyText));
  for (const type of accessObjectTypes) {
    for (const [key, object] of present) {
      if (keep.has(key) || object.kind !== type.kind) continue;
      await client.remove(type, objectKeyOf(object), uidPrecondition(object), signal);
    }
  }
}

/** Adds the entry of the request to an error of the cluster. */
async function withRejectedEntry<T>(from: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotManagedError) throw new NotManagedError(`${from}: ${error.message}`);
    if (!isRejection(error)) throw error;
    const words = (error as Error).message.replace(/[.!?]?$/, '.');
    throw new TargetRejectionError(`${from}: the cluster refused ${what}: ${words} Correct the entry, or the cluster.`);
  }
}

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

const uidPrecondition = (object: KubeObject): { uid?: string } =>
  object.metadata.uid ? { uid: object.metadata.uid } : {};

async function ensureNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  if (await client.find(Namespace, { name }, signal)) return;
  try {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** The namespace of accounts nearly always exists, so it is created only after the account fails with NotFound. */
async function ensureServiceAccount(
  client: KubeClient,
  { serviceAccount }: DesiredAccess,
  present: PresentObjects,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (!serviceAccount) return undefined;
  const wanted = { type: ServiceAccount, object: serviceAccount };
  const found = present.get(kindKeyText(wanted));
  if (found) return await ensureOwnershipMarks(client, wanted, found, signal);
  try {
    return await createObject(client, wanted, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await ensureNamespace(client, serviceAccount.metadata.namespace ?? '', signal);
    return await createObject(client, wanted, signal);
  }
}

async function ensureObject(
  client: KubeClient,
  wanted: DesiredAccessObject,
  found: KubeObject | undefined,
  signal: AbortSignal,
): Promise<KubeObject> {
  if (!found) return await createObject(client, wanted, signal);
  const content = comparableContentOf(wanted.object);
  if (isDeepStrictEqual(comparableContentOf(found), content))
    return await ensureOwnershipMarks(client, wanted, found, signal);
  // The API server rejects a changed roleRef: the binding must be deleted and created again.
  if (!isDeepStrictEqual(comparableContentOf(found)['roleRef'], content['roleRef'])) {
    await client.remove(wanted.type, objectKeyOf(found), uidPrecondition(found), signal);
    return await createObject(client, wanted, signal);
  }
  const patch = { ...content, ...ownershipMarksOf(wanted.object) };
  return await client.merge(wanted.type, objectKeyOf(found), patch, {}, signal);
}

/** Restores our labels and annotations on an object of the request if they are missing or changed. */
async function ensureOwnershipMarks(
  client: KubeClient,
  { type, object }: { type: ResourceType; object: KubeObject },
  found: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { labels, annotations } = object.metadata;
  const isMarked =
    includesEntries(found.metadata.labels, labels) && includesEntries(found.metadata.annotations, annotations);
  return isMarked ? found : await client.merge(type, objectKeyOf(found), ownershipMarksOf(object), {}, signal);
}

const ownershipMarksOf = ({ metadata: { labels, annotations } }: KubeObject): object => ({
  metadata: { labels, annotations },
});

const includesEntries = (present: Record<string, string> = {}, wanted: Record<string, string> = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => present[key] === value);

async function createObject(
  client: KubeClient,
  wanted: { type: ResourceType; object: KubeObject },
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    return await client.create(wanted.type, wanted.object, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new NotManagedError(
      `${kindKeyText(wanted)} exists in the cluster and is not managed by this request. Remove it or choose another name.`,
    );
  }
}

/** The significant fields of a role or binding in normalised form: absent and empty lists are equal. */
function comparableContentOf(object: KubeObject): Record<string, unknown> {
  const { rules, roleRef, subjects } = object as KubeObject & {
    rules?: unknown[];
    roleRef?: unknown;
    subjects?: unknown[];
  };
  return roleRef ? { roleRef, subjects: subjects ?? [] } : { rules: (rules ?? []).map(withoutEmptyLists) };
}

const withoutEmptyLists = (rule: unknown): unknown =>
  Object.fromEntries(
    Object.entries(rule as object).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
