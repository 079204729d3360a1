import { type ConfigDocument, isMainConfigDocument, isRecord, valueAt } from '../config-document.ts';
import { documentKinds } from '../schema/document-kinds.ts';
import { documentPermissions } from './document-permissions.ts';
import { mainDocumentPermissions } from './main-document-permissions.ts';
import type { DocumentKindPermissions, PatchPermission, PatchPermissionContext } from './patch-permission.ts';
import { findRejectionReasonOfPath, rejectionReasonOfKind } from './rejection-reasons.ts';

export type { PatchPermissionContext } from './patch-permission.ts';

/** Maximum number of problems to report for one patch. */
const maxProblems = 5;
/** Maximum length of a key in a message. */
const maxKeyLength = 64;

/**
 * Finds the fields that the author of a ClusterConfig may not set by a patch, as sentences with the path and never with
 * a value. The author decides about one cluster and its workloads, and not about its nodes' network, disks, images and
 * secrets, which belong to the platform team (docs/security.md).
 */
export function findForbiddenFields(patch: ConfigDocument, context: PatchPermissionContext): string[] {
  const problems = isMainConfigDocument(patch)
    ? checkValue({ permissions: mainDocumentPermissions, context, kind: '' }, [], withoutVersion(patch))
    : checkDocument(patch, context);
  return problems.length > maxProblems
    ? [...problems.slice(0, maxProblems), `And ${problems.length - maxProblems} more.`]
    : problems;
}

/** `version: v1alpha1` has no effect. */
const withoutVersion = ({ version, ...content }: ConfigDocument): ConfigDocument =>
  version === 'v1alpha1' || version === undefined ? content : { ...content, version };

function checkDocument(document: ConfigDocument, context: PatchPermissionContext): string[] {
  const { kind: given, apiVersion: _, ...content } = document;
  const kind = typeof given === 'string' ? given : '';
  const allowed = Object.hasOwn(documentPermissions, kind) ? documentPermissions[kind] : undefined;
  if (!allowed)
    return [
      formatRejection(
        quoteKey(kind),
        Object.hasOwn(documentKinds, kind) ? rejectionReasonOfKind(kind) : unknownKindReason,
      ),
    ];
  if ('$patch' in content) return [formatRejection(kind, 'documents can be added and changed, but not removed')];
  return [
    ...checkWholeDocument(kind, allowed, content, context),
    ...checkValue({ ...allowed, context, kind }, [], content),
  ];
}

const unknownKindReason = 'the kind is unknown';

function checkWholeDocument(
  kind: string,
  { whole }: DocumentKindPermissions,
  content: ConfigDocument,
  context: PatchPermissionContext,
): string[] {
  if (!whole) return [];
  const value = whole.path === '' ? content : valueAt(content, whole.path);
  const at = whole.path === '' ? kind : `${kind}.${whole.path}`;
  return whole.check.accepts(value, context) ? [] : [formatRequirement(at, whole.check.description)];
}

interface TraversalState {
  readonly permissions: readonly PatchPermission[];
  readonly context: PatchPermissionContext;
  /** Empty in the main document. */
  readonly kind: string;
}

/** Stops at the first key that is not in the table. */
function checkValue(all: TraversalState, path: readonly string[], value: unknown): string[] {
  const { permissions, context } = all;
  const fitting = permissions.filter((right) => coversPath(right, path, context));
  if (fitting.length === 0) return [rejectPath(all, path)];
  // Such a value changes nothing.
  if (value === null || value === undefined) return [];
  const exact = fitting.find((right) => pathSegments(right).length === path.length);
  if (exact) return checkPermitted(all, exact, path, value);
  const here: TraversalState = { ...all, permissions: fitting };
  if (Array.isArray(value)) {
    const [first] = value.map((one) => checkValue(here, [...path, '[]'], one)).filter((found) => found.length > 0);
    return first ?? [];
  }
  if (!isRecord(value) || '$patch' in value) return [rejectPath(all, path)];
  return Object.entries(value).flatMap(([key, one]) => checkValue(here, [...path, key], one));
}

const pathSegments = ({ path }: PatchPermission): readonly string[] => path.split('.');

/** Whether a permission covers this path or a path below it. */
function coversPath(right: PatchPermission, path: readonly string[], context: PatchPermissionContext): boolean {
  const segments = pathSegments(right);
  return (
    path.length <= segments.length &&
    path.every((key, i) => {
      const segment = segments[i];
      if (segment !== '*') return segment === key;
      return key !== '[]' && (right.key?.(key, context) ?? true);
    })
  );
}

function checkPermitted(
  { context, kind }: TraversalState,
  right: PatchPermission,
  path: readonly string[],
  value: unknown,
): string[] {
  if (isRecord(value) && '$patch' in value) {
    return right.removable ? [] : [formatRejection(formatPath(kind, path), 'it can be changed, but not removed')];
  }
  return !right.value || right.value.accepts(value, context)
    ? []
    : [formatRequirement(formatPath(kind, path), right.value.description)];
}

function rejectPath({ kind }: TraversalState, path: readonly string[]): string {
  const reason = kind === '' ? findRejectionReasonOfPath(path.join('.')) : undefined;
  return formatRejection(formatPath(kind, path), reason ?? 'it is not listed in docs/security.md');
}

const formatRejection = (what: string, reason: string): string =>
  `${what} cannot be set in a ClusterConfig: ${reason}. Remove it, or have the platform team patch the ProviderConfig.`;
const formatRequirement = (what: string, such: string): string => `${what} must be ${such} in a ClusterConfig.`;

function formatPath(kind: string, path: readonly string[]): string {
  const keys = path.map((key) => (key === '[]' ? key : quoteKey(key)));
  const text = [...(kind === '' ? [] : [kind]), ...keys].join('.').replaceAll('.[]', '[]');
  return text === '' ? 'the document' : text;
}

function quoteKey(key: string): string {
  const short = key.length > maxKeyLength ? `${key.slice(0, maxKeyLength)}…` : key;
  return /^[\w./-]+$/.test(short) ? short : JSON.stringify(short);
}
