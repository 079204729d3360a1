import { ProviderError } from '../../lib/errors.ts';
import { findUndecodable } from './decoding.ts';
import { type ConfigDocument, identityOf, isMain, isRecord } from './document.ts';
import { ListParts } from './list-parts.ts';

/** One document of a strategic-merge patch, and where it stands, e.g. `controlPlane.patches[1]`: for messages. */
export interface ConfigPatch {
  readonly from: string;
  readonly document: ConfigDocument;
}

/** A patch that cannot be applied, and why, as a sentence. */
export interface PatchProblem {
  readonly from: string;
  readonly message: string;
}

/**
 * Applies patches in order, as `talosctl machineconfig patch` does (`pkg/machinery/config/{configpatcher,merge}` of
 * Talos): documents are matched by kind and name, new ones are added. Maps merge key by key, lists grow, and
 * `$patch: delete` removes a key, a list element or a whole document. An empty text and a zero change nothing.
 * Returns the first problem, if there is one, which names the path.
 */
export function tryPatches(
  documents: readonly ConfigDocument[],
  patches: readonly ConfigPatch[],
  talosVersion: string,
): { readonly documents: readonly ConfigDocument[] } | { readonly problem: PatchProblem } {
  let result = documents;
  for (const { from, document } of patches) {
    try {
      result = applyPatch(result, document, talosVersion);
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      return { problem: { from, message: `${error.message}.` } };
    }
  }
  return { documents: result };
}

/** The same, which throws TALOS_PATCH_INVALID where there is a problem, naming the patch and the path. */
export function applyPatches(...[documents, patches, talosVersion]: Parameters<typeof tryPatches>) {
  const result = tryPatches(documents, patches, talosVersion);
  if ('documents' in result) return result.documents;
  const { from, message } = result.problem;
  throw new ProviderError('TALOS_PATCH_INVALID', `${from}: ${message}`);
}

/** As many of one patch as people can read at once. */
const mostNamed = 10;

/** A sentence about a patch, thrown to {@link tryPatches}, which knows where the patch stands. */
class Unfit extends Error {}

function applyPatch(documents: readonly ConfigDocument[], patch: ConfigDocument, talosVersion: string) {
  if (!isRecord(patch)) throw new Unfit('it is not a document: JSON patches are not supported');
  const { $patch, ...content } = patch;
  const unknown = findUndecodable(content, talosVersion);
  if (unknown.length > mostNamed)
    throw new Unfit(`${unknown.slice(0, mostNamed).join('; ')}; and ${unknown.length - mostNamed} more`);
  if (unknown.length > 0) throw new Unfit(unknown.join('; '));
  const identity = identityOf(content);
  const index = documents.findIndex((document) => identityOf(document) === identity);
  if ($patch !== undefined) return withoutDocument(documents, index, identity, $patch);
  const base = documents[index];
  if (base === undefined) return [...documents, withoutMarks(content, identity) as ConfigDocument];
  const kind = isMain(content) ? '' : `${String(content['kind'])}:`;
  const merged = mergeRecords(base, content, { path: '', rule: kind, inList: false });
  return documents.map((document, i) => (i === index ? merged : document));
}

function withoutDocument(documents: readonly ConfigDocument[], index: number, identity: string, mark: unknown) {
  expectDelete(mark, identity);
  if (identity === 'v1alpha1') throw new Unfit('the main document cannot be deleted');
  if (index < 0) throw new Unfit(`there is no ${identity} to delete`);
  return documents.filter((_, i) => i !== index);
}

/** `path` is for people, `rule` is the path without indices that the tables below use, behind the kind. */
interface Place {
  readonly path: string;
  readonly rule: string;
  readonly inList: boolean;
}

const at = (place: Place, key: string): Place => ({
  path: place.path === '' ? key : `${place.path}.${key}`,
  rule: place.rule === '' || place.rule.endsWith(':') ? `${place.rule}${key}` : `${place.rule}.${key}`,
  inList: place.inList,
});

/** Replaced as a whole, where everything else of their kind would be merged. */
const replaced = new Set([
  'cluster.network.podSubnets',
  'cluster.network.serviceSubnets',
  'cluster.apiServer.auditPolicy',
  'NetworkRuleConfig:portSelector.ports',
  'NetworkRuleConfig:ingress',
  'KubeAuditPolicyConfig:configuration',
  'KubeAuthenticationConfig:configuration',
  'KubeCredentialProviderConfig:configuration',
  'KubeStaticPodConfig:pod',
]);

/**
 * Lists whose elements are merged with the one of the same key; the first key that the patch's element has, counts. Of
 * selectors the content counts, as Talos means it too: there, a selector with `physical` is never equal to another one,
 * because pointers are compared (`NetworkDeviceList.mergeDevice`, seen with 1.13.9), and the patch adds an interface.
 */
const keyed: Readonly<Record<string, readonly string[]>> = {
  'machine.network.interfaces': ['interface', 'deviceSelector'],
  'machine.network.interfaces.vlans': ['vlanId'],
  'cluster.apiServer.admissionControl': ['name'],
  'ExtensionServiceConfig:configFiles': ['mountPath'],
};

/** Of lists whose elements are compared with each other: no node has as many interfaces, VLANs or files. */
const mostKeyed = 256;

function mergeRecords(left: ConfigDocument, right: ConfigDocument, place: Place): Record<string, unknown> {
  // Arguments are set one by one, also to an empty text.
  if (place.rule.endsWith('extraArgs')) return { ...left, ...right };
  const result: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const here = at(place, key);
    if (isRecord(value) && '$patch' in value) {
      expectDeletable(result[key], value['$patch'], here);
      delete result[key];
    } else {
      const merged = mergeValues(result[key], value, here);
      if (merged !== undefined) result[key] = merged;
    }
  }
  return result;
}

function expectDeletable(current: unknown, mark: unknown, place: Place): void {
  expectDelete(mark, place.path);
  if (place.inList) throw new Unfit(`${place.path} lies inside a list element and cannot be deleted alone`);
  if (current === undefined) throw new Unfit(`there is no ${place.path} to delete`);
}

function mergeValues(left: unknown, right: unknown, place: Place): unknown {
  if (right === null || right === undefined) return left;
  if (left === null || left === undefined || replaced.has(place.rule)) return withoutMarks(right, place.path);
  if (isRecord(left) && isRecord(right)) return mergeRecords(left, right, place);
  if (Array.isArray(left) && Array.isArray(right)) return mergeLists(left, right, place);
  if (typeOf(left) !== typeOf(right)) {
    throw new Unfit(`${place.path} is ${typeOf(left)} and cannot be merged with ${typeOf(right)}`);
  }
  return right === '' || right === 0 ? left : right;
}

function mergeLists(left: readonly unknown[], right: readonly unknown[], place: Place): unknown[] {
  const keys = keyed[place.rule] ?? [];
  if (keys.length > 0 && left.length + right.length > mostKeyed)
    throw new Unfit(`${place.path} has more than ${mostKeyed} elements`);
  const result = new ListParts(left);
  right.forEach((element, i) => {
    const here: Place = { path: `${place.path}[${i}]`, rule: place.rule, inList: true };
    if (isRecord(element) && '$patch' in element) {
      deleteElement(result, element, here);
      return;
    }
    const index = isRecord(element) ? indexOfSame(result.parts, element, keys) : -1;
    const same = result.parts[index];
    if (isRecord(same) && isRecord(element)) result.replace(index, mergeRecords(same, element, here));
    else result.push(withoutMarks(element, here.path));
  });
  return result.whole();
}

/** Keys whose values are names. */
const naming = new Set(['name', 'interface', 'vlanId', 'device', 'path', 'mountPath']);

function deleteElement(list: ListParts, element: Record<string, unknown>, place: Place): void {
  expectDelete(element['$patch'], place.path);
  const [key, value] = Object.entries(element).find(([name]) => name !== '$patch') ?? [];
  if (key === undefined) throw new Unfit(`${place.path} needs one more key that says which element to delete`);
  // Talos compares scalars alone.
  if (typeof value !== 'object' && list.drop(key, String(value))) return;
  // Only names are shown: anything else may be a secret.
  const shown = naming.has(key) ? `${key}: ${String(value)}` : `this ${key}`;
  throw new Unfit(`${place.path}: there is no element with ${shown} to delete`);
}

function indexOfSame(list: readonly unknown[], element: Record<string, unknown>, keys: readonly string[]): number {
  const key = keys.find((name) => element[name] !== undefined && element[name] !== '');
  if (key === undefined) return -1;
  const wanted = canonical(element[key]);
  return list.findIndex((one) => isRecord(one) && canonical(one[key]) === wanted);
}

/** A new part of the configuration, which has nothing in it yet that could be deleted. */
function withoutMarks(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((element, i) => withoutMarks(element, `${path}[${i}]`));
  if (!isRecord(value)) return value;
  if ('$patch' in value) {
    expectDelete(value['$patch'], path);
    throw new Unfit(`there is no ${path} to delete`);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutMarks(one, `${path}.${key}`)]));
}

function expectDelete(mark: unknown, path: string): void {
  if (mark !== 'delete') throw new Unfit(`${path}: the only thing that $patch can be is delete`);
}

/** The same text for the same content, whatever the order of its keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );

const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : isRecord(value) ? 'a map' : `a ${typeof value}`;
