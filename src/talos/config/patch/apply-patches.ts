import { ProviderError } from '../../../lib/errors.ts';
import { type ConfigDocument, documentIdentity, isMainConfigDocument, isRecord } from '../config-document.ts';
import { findDecodingProblems } from '../schema/decoding.ts';
import { PatchedList } from './patched-list.ts';

/** One document of a strategic merge patch, and its origin for messages, e.g. `controlPlane.patches[1]`. */
export interface ConfigPatch {
  readonly from: string;
  readonly document: ConfigDocument;
}

/** A patch that cannot be applied, and the reason as a sentence. */
export interface PatchProblem {
  readonly from: string;
  readonly message: string;
}

/**
 * Applies patches in order, as `talosctl machineconfig patch` does (`pkg/machinery/config/{configpatcher,merge}` of
 * Talos): documents are matched by kind and name, new ones are added. Maps merge key by key, lists grow, and `$patch:
 * delete` removes a key, a list element or a whole document. An empty text and a zero change nothing. Returns the first
 * problem, if there is one, with its path.
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
      if (!(error instanceof PatchError)) throw error;
      return { problem: { from, message: `${error.message}.` } };
    }
  }
  return { documents: result };
}

/** As {@link tryPatches}, but throws TALOS_PATCH_INVALID with the patch and the path of the first problem. */
export function applyPatches(...[documents, patches, talosVersion]: Parameters<typeof tryPatches>) {
  const result = tryPatches(documents, patches, talosVersion);
  if ('documents' in result) return result.documents;
  const { from, message } = result.problem;
  throw new ProviderError('TALOS_PATCH_INVALID', `${from}: ${message}`);
}

/** Maximum number of problems to name for one patch. */
const maxNamedProblems = 10;

/** A problem of a patch, thrown to {@link tryPatches}, which adds the origin of the patch. */
class PatchError extends Error {}

function applyPatch(documents: readonly ConfigDocument[], patch: ConfigDocument, talosVersion: string) {
  if (!isRecord(patch)) throw new PatchError('it is not a document: JSON patches are not supported');
  const { $patch, ...content } = patch;
  const unknown = findDecodingProblems(content, talosVersion);
  if (unknown.length > maxNamedProblems)
    throw new PatchError(
      `${unknown.slice(0, maxNamedProblems).join('; ')}; and ${unknown.length - maxNamedProblems} more`,
    );
  if (unknown.length > 0) throw new PatchError(unknown.join('; '));
  const identity = documentIdentity(content);
  const index = documents.findIndex((document) => documentIdentity(document) === identity);
  if ($patch !== undefined) return deleteDocument(documents, index, identity, $patch);
  const base = documents[index];
  if (base === undefined) return [...documents, withoutPatchDirectives(content, identity) as ConfigDocument];
  const kind = isMainConfigDocument(content) ? '' : `${String(content['kind'])}:`;
  const merged = mergeRecords(base, content, { path: '', rule: kind, inList: false });
  return documents.map((document, i) => (i === index ? merged : document));
}

function deleteDocument(documents: readonly ConfigDocument[], index: number, identity: string, mark: unknown) {
  assertDeleteDirective(mark, identity);
  if (identity === 'v1alpha1') throw new PatchError('the main document cannot be deleted');
  if (index < 0) throw new PatchError(`there is no ${identity} to delete`);
  return documents.filter((_, i) => i !== index);
}

/** `path` is for messages. `rule` is the path without indices, after the kind: the key of the tables below. */
interface PatchPosition {
  readonly path: string;
  readonly rule: string;
  readonly inList: boolean;
}

const childPosition = (place: PatchPosition, key: string): PatchPosition => ({
  path: place.path === '' ? key : `${place.path}.${key}`,
  rule: place.rule === '' || place.rule.endsWith(':') ? `${place.rule}${key}` : `${place.rule}.${key}`,
  inList: place.inList,
});

/** Paths whose values are replaced as a whole, where other values of their type are merged. */
const replacedPaths = new Set([
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
 * Lists whose elements are merged with the element of the same key; the first key that the patch's element has counts.
 * Selectors are compared by content, as Talos intends: there, a selector with `physical` never equals another one,
 * because pointers are compared (`NetworkDeviceList.mergeDevice`, seen with 1.13.9), and the patch adds an interface.
 */
const mergeKeysByPath: Readonly<Record<string, readonly string[]>> = {
  'machine.network.interfaces': ['interface', 'deviceSelector'],
  'machine.network.interfaces.vlans': ['vlanId'],
  'cluster.apiServer.admissionControl': ['name'],
  'ExtensionServiceConfig:configFiles': ['mountPath'],
};

/**
 * Maximum length of lists whose elements are compared with each other. No node has as many interfaces, VLANs or files.
 */
const maxKeyedElements = 256;

function mergeRecords(left: ConfigDocument, right: ConfigDocument, place: PatchPosition): Record<string, unknown> {
  // Arguments are set one by one, also to an empty text.
  if (place.rule.endsWith('extraArgs')) return { ...left, ...right };
  const result: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const here = childPosition(place, key);
    if (isRecord(value) && '$patch' in value) {
      assertDeletable(result[key], value['$patch'], here);
      delete result[key];
    } else {
      const merged = mergeValues(result[key], value, here);
      if (merged !== undefined) result[key] = merged;
    }
  }
  return result;
}

function assertDeletable(current: unknown, mark: unknown, place: PatchPosition): void {
  assertDeleteDirective(mark, place.path);
  if (place.inList) throw new PatchError(`${place.path} lies inside a list element and cannot be deleted alone`);
  if (current === undefined) throw new PatchError(`there is no ${place.path} to delete`);
}

function mergeValues(left: unknown, right: unknown, place: PatchPosition): unknown {
  if (right === null || right === undefined) return left;
  if (left === null || left === undefined || replacedPaths.has(place.rule))
    return withoutPatchDirectives(right, place.path);
  if (isRecord(left) && isRecord(right)) return mergeRecords(left, right, place);
  if (Array.isArray(left) && Array.isArray(right)) return mergeLists(left, right, place);
  if (describeType(left) !== describeType(right)) {
    throw new PatchError(`${place.path} is ${describeType(left)} and cannot be merged with ${describeType(right)}`);
  }
  return right === '' || right === 0 ? left : right;
}

function mergeLists(left: readonly unknown[], right: readonly unknown[], place: PatchPosition): unknown[] {
  const keys = mergeKeysByPath[place.rule] ?? [];
  if (keys.length > 0 && left.length + right.length > maxKeyedElements)
    throw new PatchError(`${place.path} has more than ${maxKeyedElements} elements`);
  const result = new PatchedList(left);
  right.forEach((element, i) => {
    const here: PatchPosition = { path: `${place.path}[${i}]`, rule: place.rule, inList: true };
    if (isRecord(element) && '$patch' in element) {
      deleteElement(result, element, here);
      return;
    }
    const index = isRecord(element) ? findSameElement(result.parts, element, keys) : -1;
    const same = result.parts[index];
    if (isRecord(same) && isRecord(element)) result.replace(index, mergeRecords(same, element, here));
    else result.push(withoutPatchDirectives(element, here.path));
  });
  return result.whole();
}

/** Keys whose values are names. */
const nameKeys = new Set(['name', 'interface', 'vlanId', 'device', 'path', 'mountPath']);

function deleteElement(list: PatchedList, element: Record<string, unknown>, place: PatchPosition): void {
  assertDeleteDirective(element['$patch'], place.path);
  const [key, value] = Object.entries(element).find(([name]) => name !== '$patch') ?? [];
  if (key === undefined) throw new PatchError(`${place.path} needs one more key that says which element to delete`);
  // Talos compares only scalars.
  if (typeof value !== 'object' && list.drop(key, String(value))) return;
  // Only names are shown: any other value may be a secret.
  const shown = nameKeys.has(key) ? `${key}: ${String(value)}` : `this ${key}`;
  throw new PatchError(`${place.path}: there is no element with ${shown} to delete`);
}

function findSameElement(list: readonly unknown[], element: Record<string, unknown>, keys: readonly string[]): number {
  const key = keys.find((name) => element[name] !== undefined && element[name] !== '');
  if (key === undefined) return -1;
  const wanted = canonicalJson(element[key]);
  return list.findIndex((one) => isRecord(one) && canonicalJson(one[key]) === wanted);
}

/** A new part of the configuration, in which there is nothing to delete. */
function withoutPatchDirectives(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((element, i) => withoutPatchDirectives(element, `${path}[${i}]`));
  if (!isRecord(value)) return value;
  if ('$patch' in value) {
    assertDeleteDirective(value['$patch'], path);
    throw new PatchError(`there is no ${path} to delete`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutPatchDirectives(one, `${path}.${key}`)]),
  );
}

function assertDeleteDirective(mark: unknown, path: string): void {
  if (mark !== 'delete') throw new PatchError(`${path}: the only supported value of $patch is delete`);
}

/** The same text for the same content, in any order of keys. */
const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, one) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );

const describeType = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : isRecord(value) ? 'a map' : `a ${typeof value}`;
