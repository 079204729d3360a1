import { isDeepStrictEqual } from 'node:util';
import { ServiceAccount } from '../../../kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { type AccessObject, accessObjectTypes } from './access-object-cache.ts';
import { type DesiredAccess, kindKeyText } from './desired-access.ts';
import { classifyMarkOwner, describeMarkedRequest } from './request-mark.ts';

/** What happens to one requested object. */
export type AccessObjectChange =
  | { readonly kind: 'keep'; readonly found: KubeObject }
  | { readonly kind: 'create' }
  /** The API server rejects a changed roleRef: the binding must be deleted and created again. */
  | { readonly kind: 'replace'; readonly found: KubeObject }
  | { readonly kind: 'patch'; readonly found: KubeObject; readonly patch: object };

export interface PlannedObject extends AccessObject {
  readonly change: AccessObjectChange;
}

/** The difference between the requested objects and those in the target cluster. */
export interface AccessChanges {
  /** Objects of a deleted request of the same name, bindings and roles first. */
  readonly former: readonly AccessObject[];
  /** Why a name is not free; undefined if all are. */
  readonly nameTaken: string | undefined;
  readonly account: PlannedObject | undefined;
  /** `from`: the field of the request. */
  readonly objects: readonly (PlannedObject & { readonly from: string })[];
  /** Objects of the request that are not requested any more, bindings and roles first. */
  readonly unrequested: readonly AccessObject[];
}

/** Compares the requested objects with all objects that have the label of the request. */
export function planAccessChanges(access: DesiredAccess, snapshot: readonly AccessObject[]): AccessChanges {
  const of = (owner: ReturnType<typeof classifyMarkOwner>) =>
    snapshot.filter(({ object }) => classifyMarkOwner(object, access.request) === owner);
  const own = of('own');
  const present = new Map(own.map((one) => [kindKeyText(one), one.object]));
  const account = access.serviceAccount && { type: ServiceAccount, object: access.serviceAccount };
  const wanted = new Set([...(account ? [account] : []), ...access.objects].map(kindKeyText));
  const unrequested = own.filter((one) => !wanted.has(kindKeyText(one)));
  return {
    former: of('former'),
    nameTaken: findTakenName(wanted, of('other')),
    account: account && { ...account, change: planAccount(account.object, present.get(kindKeyText(account))) },
    objects: access.objects.map(({ from, type, object }) => {
      const change = planObject(object, present.get(kindKeyText({ type, object })));
      return { from, type: type as ResourceType, object, change };
    }),
    unrequested: accessObjectTypes.flatMap(({ kind }) => unrequested.filter(({ type }) => type.kind === kind)),
  };
}

/** Two requests whose names have the same hash need the same account and role names. The first one has them. */
function findTakenName(wanted: ReadonlySet<string>, others: readonly AccessObject[]): string | undefined {
  const taken = others.find((one) => wanted.has(kindKeyText(one)));
  return (
    taken &&
    `${kindKeyText(taken)} exists in the cluster for ${describeMarkedRequest(taken.object)}, whose name has the same hash. Create this AccessRequest with another name.`
  );
}

const planAccount = (wanted: KubeObject, found: KubeObject | undefined): AccessObjectChange =>
  found ? planMarks(wanted, found) : { kind: 'create' };

function planObject(wanted: KubeObject, found: KubeObject | undefined): AccessObjectChange {
  if (!found) return { kind: 'create' };
  const content = comparableContentOf(wanted);
  const present = comparableContentOf(found);
  if (isDeepStrictEqual(present, content)) return planMarks(wanted, found);
  if (!isDeepStrictEqual(present['roleRef'], content['roleRef'])) return { kind: 'replace', found };
  return { kind: 'patch', found, patch: { ...content, ...ownershipMarksOf(wanted) } };
}

/** Restores our labels and annotations if they are missing or changed. */
function planMarks(wanted: KubeObject, found: KubeObject): AccessObjectChange {
  const { labels, annotations } = wanted.metadata;
  const isMarked =
    includesEntries(found.metadata.labels, labels) && includesEntries(found.metadata.annotations, annotations);
  return isMarked ? { kind: 'keep', found } : { kind: 'patch', found, patch: ownershipMarksOf(wanted) };
}

const ownershipMarksOf = ({ metadata: { labels, annotations } }: KubeObject): object => ({
  metadata: { labels, annotations },
});

const includesEntries = (present: Record<string, string> = {}, wanted: Record<string, string> = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => present[key] === value);

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
