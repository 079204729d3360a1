import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../../kube/client.ts';
import { Namespace, ServiceAccount } from '../../kube/core-types.ts';
import { isAlreadyExists, isNotFound, isRefusal } from '../../kube/errors.ts';
import { type KubeObject, keyOf, type ResourceType } from '../../kube/resource.ts';
import { type Access, identityOf, type Wanted } from './describe.ts';
import { type Found, kinds, type Look, type Site } from './looks.ts';
import { markOwner, namedRequest } from './request-mark.ts';

/** An object of that name exists in the target cluster and is not ours. It is left as it is. */
export class NotManaged extends Error {}

/** The target cluster refused something, and will until somebody changes something. The message names the entry. */
export class Refused extends Error {}

/**
 * Makes the target cluster hold exactly what the request asks for: what is missing is made, what differs is put right,
 * what carries the request's mark and is not asked for any more goes, also when something new is refused. Nothing
 * without that mark is changed. Returns the UID of the account, where one is asked for.
 */
export async function ensureAccess(site: Site, access: Access, signal: AbortSignal): Promise<string | undefined> {
  const { soon } = site;
  const ensure = (fresh: boolean) =>
    site.looks.during(access.id, { signal, soon, fresh }, async (look) => {
      try {
        return { uid: await bringAbout(site.client, access, look, signal) };
      } catch (error) {
        // It may be ours, and be there since the look.
        if (look.isFresh || !(error instanceof NotManaged)) throw error;
        return undefined;
      }
    });
  return ((await ensure(false)) ?? (await ensure(true)))?.uid;
}

async function bringAbout(
  client: KubeClient,
  access: Access,
  { found, isFresh }: Look,
  signal: AbortSignal,
): Promise<string | undefined> {
  const of = (owner: ReturnType<typeof markOwner>) =>
    found.filter(({ object }) => markOwner(object, access.request) === owner);
  const present = new Map(of('own').map((one) => [identityOf(one), one.object]));
  try {
    await removeAll(client, of('former'), signal);
    refuseTaken(access, of('other'));
    const uid = await makeAll(client, access, present, signal);
    await removeOthers(client, access, present, signal);
    return uid;
  } catch (error) {
    const isFinal = error instanceof Refused || (error instanceof NotManaged && isFresh);
    if (isFinal) await removeOthers(client, access, present, signal);
    throw error;
  }
}

/** Of two requests whose names have the same hash one has the account and the roles that are named after it. */
function refuseTaken({ serviceAccount, objects }: Access, others: readonly Found[]): void {
  const account = serviceAccount ? [{ type: ServiceAccount, object: serviceAccount }] : [];
  const wanted = new Set([...account, ...objects].map(identityOf));
  const taken = others.find((one) => wanted.has(identityOf(one)));
  if (!taken) return;
  throw new NotManaged(
    `${identityOf(taken)} exists in the cluster for ${namedRequest(taken.object)}, whose name has the same hash. Make this request under another name.`,
  );
}

/** In the order in which they were found: rights first. */
async function removeAll(client: KubeClient, all: readonly Found[], signal: AbortSignal): Promise<void> {
  for (const { type, object } of all) await client.remove(type, keyOf(object), uidOf(object), signal);
}

type Present = ReadonlyMap<string, KubeObject>;

async function makeAll(
  client: KubeClient,
  access: Access,
  present: Present,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusals = new Refusals();
  for (const { name, from } of access.namespaces) {
    await refusals.collect(from, `Namespace ${name}`, () => ensureNamespace(client, name, signal));
  }
  const account = await ensureAccount(client, access, present, signal);
  for (const wanted of access.objects) {
    const found = present.get(identityOf(wanted));
    await refusals.collect(wanted.from, identityOf(wanted), () => ensureObject(client, wanted, found, signal));
  }
  refusals.raise();
  return account?.metadata.uid;
}

/**
 * What the cluster refuses, gathered over all entries of a request, so that people learn of all of it at once. Of an entry
 * that something was refused of nothing more is made: a binding beside a foreign role of that name would give its rights.
 */
class Refusals {
  readonly #errors: { readonly from: string; readonly error: NotManaged | Refused }[] = [];

  async collect(from: string, what: string, work: () => Promise<unknown>): Promise<void> {
    if (this.#errors.some((one) => one.from === from || one.from.startsWith(`${from}.`))) return;
    try {
      await orRefused(from, what, work);
    } catch (error) {
      if (!(error instanceof NotManaged || error instanceof Refused)) throw error;
      this.#errors.push({ from, error });
    }
  }

  /** Throws them as one. What is not managed may be so by an old look only, so that it counts before the others. */
  raise(): void {
    if (this.#errors.length === 0) return;
    const message = this.#errors.map(({ error }) => error.message).join(' ');
    const isManaged = this.#errors.every(({ error }) => !(error instanceof NotManaged));
    throw isManaged ? new Refused(message) : new NotManaged(message);
  }
}

async function removeOthers(client: KubeClient, access: Access, present: Present, signal: AbortSignal): Promise<void> {
  const { serviceAccount } = access;
  const account = serviceAccount ? [{ type: ServiceAccount, object: serviceAccount }] : [];
  const keep = new Set([...account, ...access.objects].map(identityOf));
  for (const type of kinds) {
    for (const [key, object] of present) {
      if (keep.has(key) || object.kind !== type.kind) continue;
      await client.remove(type, keyOf(object), uidOf(object), signal);
    }
  }
}

/** Says to which entry of the request the words of the cluster belong. */
async function orRefused<T>(from: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotManaged) throw new NotManaged(`${from}: ${error.message}`);
    if (!isRefusal(error)) throw error;
    const words = (error as Error).message.replace(/[.!?]?$/, '.');
    throw new Refused(`${from}: the cluster refused ${what}: ${words} Correct the entry, or the cluster.`);
  }
}

/** What is made for a request is found by. */
type Mark = Pick<Access, 'id' | 'request'>;

/** Takes everything away that carries the request's mark, rights first. Namespaces stay. */
export async function revokeAccess(site: Site, mark: Mark, signal: AbortSignal): Promise<void> {
  await revoke(site, mark, signal, () => true);
}

/** The same, but for the account: it can do nothing any more, and can do again what is asked for later. */
export async function revokeRights(site: Site, mark: Mark, signal: AbortSignal): Promise<void> {
  await revoke(site, mark, signal, (type) => type !== ServiceAccount);
}

async function revoke(
  site: Site,
  { id, request }: Mark,
  signal: AbortSignal,
  isMeant: (type: ResourceType) => boolean,
): Promise<void> {
  const { client, looks, soon } = site;
  await looks.during(id, { signal, soon, fresh: true }, async ({ found }) => {
    const own = found.filter(({ type, object }) => isMeant(type) && markOwner(object, request) !== 'other');
    await removeAll(client, own, signal);
  });
}

const uidOf = (object: KubeObject): { uid?: string } => (object.metadata.uid ? { uid: object.metadata.uid } : {});

async function ensureNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  if (await client.find(Namespace, { name }, signal)) return;
  try {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** The namespace of accounts exists nearly always, so it is only made when the account says that it does not. */
async function ensureAccount(
  client: KubeClient,
  { serviceAccount }: Access,
  present: Present,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (!serviceAccount) return undefined;
  const wanted = { type: ServiceAccount, object: serviceAccount };
  const found = present.get(identityOf(wanted));
  if (found) return await ensureMarks(client, wanted, found, signal);
  try {
    return await create(client, wanted, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await ensureNamespace(client, serviceAccount.metadata.namespace ?? '', signal);
    return await create(client, wanted, signal);
  }
}

async function ensureObject(
  client: KubeClient,
  wanted: Wanted,
  found: KubeObject | undefined,
  signal: AbortSignal,
): Promise<KubeObject> {
  if (!found) return await create(client, wanted, signal);
  const content = contentOf(wanted.object);
  if (isDeepStrictEqual(contentOf(found), content)) return await ensureMarks(client, wanted, found, signal);
  // The API server refuses a changed roleRef: the binding has to be made anew.
  if (!isDeepStrictEqual(contentOf(found)['roleRef'], content['roleRef'])) {
    await client.remove(wanted.type, keyOf(found), uidOf(found), signal);
    return await create(client, wanted, signal);
  }
  const patch = { ...content, ...marksOf(wanted.object) };
  return await client.merge(wanted.type, keyOf(found), patch, {}, signal);
}

/** Restores our labels and annotations on an object of the request where they are missing or changed. */
async function ensureMarks(
  client: KubeClient,
  { type, object }: { type: ResourceType; object: KubeObject },
  found: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { labels, annotations } = object.metadata;
  const isMarked = holds(found.metadata.labels, labels) && holds(found.metadata.annotations, annotations);
  return isMarked ? found : await client.merge(type, keyOf(found), marksOf(object), {}, signal);
}

const marksOf = ({ metadata: { labels, annotations } }: KubeObject): object => ({ metadata: { labels, annotations } });

const holds = (present: Record<string, string> = {}, wanted: Record<string, string> = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => present[key] === value);

async function create(
  client: KubeClient,
  wanted: { type: ResourceType; object: KubeObject },
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    return await client.create(wanted.type, wanted.object, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new NotManaged(
      `${identityOf(wanted)} exists in the cluster and is not managed by this request. Remove it or choose another name.`,
    );
  }
}

/** The part of a role or binding that means something, in one form: absent and empty lists are the same. */
function contentOf(object: KubeObject): Record<string, unknown> {
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
