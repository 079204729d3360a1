import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../../kube/client.ts';
import { Namespace, ServiceAccount } from '../../kube/core-types.ts';
import { isAlreadyExists, isNotFound, isRefusal } from '../../kube/errors.ts';
import { type KubeObject, keyOf, type ResourceType } from '../../kube/resource.ts';
import { type Access, identityOf, type Wanted } from './describe.ts';
import { kinds, type Look, type Site } from './looks.ts';

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
  const present = new Map(found.map((one) => [identityOf(one), one.object]));
  try {
    const uid = await makeAll(client, access, present, signal);
    await removeOthers(client, access, present, signal);
    return uid;
  } catch (error) {
    const isFinal = error instanceof Refused || (error instanceof NotManaged && isFresh);
    if (isFinal) await removeOthers(client, access, present, signal);
    throw error;
  }
}

type Present = ReadonlyMap<string, KubeObject>;

async function makeAll(
  client: KubeClient,
  access: Access,
  present: Present,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { name, from } of access.namespaces) {
    await orRefused(from, `Namespace ${name}`, () => ensureNamespace(client, name, signal));
  }
  const account = await ensureAccount(client, access, present, signal);
  for (const wanted of access.objects) {
    const found = present.get(identityOf(wanted));
    await orRefused(wanted.from, identityOf(wanted), () => ensureObject(client, wanted, found, signal));
  }
  return account?.metadata.uid;
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

/** Takes everything away that carries the request's mark, rights first. Namespaces stay. */
export async function revokeAccess(site: Site, id: string, signal: AbortSignal): Promise<void> {
  await revoke(site, id, signal, () => true);
}

/** The same, but for the account: it can do nothing any more, and can do again what is asked for later. */
export async function revokeRights(site: Site, id: string, signal: AbortSignal): Promise<void> {
  await revoke(site, id, signal, (type) => type !== ServiceAccount);
}

async function revoke(
  site: Site,
  id: string,
  signal: AbortSignal,
  isMeant: (type: ResourceType) => boolean,
): Promise<void> {
  const { client, looks, soon } = site;
  await looks.during(id, { signal, soon, fresh: true }, async ({ found }) => {
    for (const { type, object } of found) {
      if (isMeant(type)) await client.remove(type, keyOf(object), uidOf(object), signal);
    }
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
  if (found) return found;
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
  if (isDeepStrictEqual(contentOf(found), content)) return found;
  // The API server refuses a changed roleRef: the binding has to be made anew.
  if (!isDeepStrictEqual(contentOf(found)['roleRef'], content['roleRef'])) {
    await client.remove(wanted.type, keyOf(found), uidOf(found), signal);
    return await create(client, wanted, signal);
  }
  return await client.merge(wanted.type, keyOf(found), content, {}, signal);
}

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
