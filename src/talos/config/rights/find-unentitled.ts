import { type ConfigDocument, isMain, isRecord, valueAt } from '../document.ts';
import { kinds } from '../kinds.ts';
import { documentRights } from './document-rights.ts';
import { mainRights } from './main-rights.ts';
import { refusalOfKind, refusalOfPath } from './refusals.ts';
import type { KindRights, Right, RightsContext } from './right.ts';

export type { RightsContext } from './right.ts';

/** As many problems of one patch as people can read at once. */
const most = 5;
/** Keys are shown, and may be of any length. */
const longestKey = 64;

/**
 * What the author of a ClusterConfig may not do by a patch, as sentences that name the path and never a value. The author
 * decides about one cluster and what runs in it, and not about its nodes' network, disks, images and secrets, which
 * belong to the platform team (docs/security.md).
 */
export function findUnentitled(patch: ConfigDocument, context: RightsContext): string[] {
  const problems = isMain(patch)
    ? walk({ rights: mainRights, context, kind: '' }, [], withoutVersion(patch))
    : problemsOfDocument(patch, context);
  return problems.length > most ? [...problems.slice(0, most), `And ${problems.length - most} more.`] : problems;
}

/** `version: v1alpha1` says nothing. */
const withoutVersion = ({ version, ...content }: ConfigDocument): ConfigDocument =>
  version === 'v1alpha1' || version === undefined ? content : { ...content, version };

function problemsOfDocument(document: ConfigDocument, context: RightsContext): string[] {
  const { kind: given, apiVersion: _, ...content } = document;
  const kind = typeof given === 'string' ? given : '';
  const allowed = Object.hasOwn(documentRights, kind) ? documentRights[kind] : undefined;
  if (!allowed) return [sentence(named(kind), Object.hasOwn(kinds, kind) ? refusalOfKind(kind) : unknownKind)];
  if ('$patch' in content) return [sentence(kind, 'documents can be added and changed, and not taken away')];
  return [...problemsOfWhole(kind, allowed, content, context), ...walk({ ...allowed, context, kind }, [], content)];
}

const unknownKind = 'it is no kind that is known here';

function problemsOfWhole(
  kind: string,
  { whole }: KindRights,
  content: ConfigDocument,
  context: RightsContext,
): string[] {
  if (!whole) return [];
  const value = whole.path === '' ? content : valueAt(content, whole.path);
  const at = whole.path === '' ? kind : `${kind}.${whole.path}`;
  return whole.check.holds(value, context) ? [] : [mustBe(at, whole.check.such)];
}

interface Walk {
  readonly rights: readonly Right[];
  readonly context: RightsContext;
  /** Empty in the main document. */
  readonly kind: string;
}

/** As deep as the table goes: below the first key that is not in it nothing is looked at. */
function walk(all: Walk, path: readonly string[], value: unknown): string[] {
  const { rights, context } = all;
  const fitting = rights.filter((right) => leadsTo(right, path, context));
  if (fitting.length === 0) return [refuse(all, path)];
  // Such a value changes nothing.
  if (value === null || value === undefined) return [];
  const exact = fitting.find((right) => segmentsOf(right).length === path.length);
  if (exact) return judge(all, exact, path, value);
  const here = { ...all, rights: fitting };
  if (Array.isArray(value)) {
    const [first] = value.map((one) => walk(here, [...path, '[]'], one)).filter((found) => found.length > 0);
    return first ?? [];
  }
  if (!isRecord(value) || '$patch' in value) return [refuse(all, path)];
  return Object.entries(value).flatMap(([key, one]) => walk(here, [...path, key], one));
}

const segmentsOf = ({ path }: Right): readonly string[] => path.split('.');

/** Whether a right is about this path or something below it. */
function leadsTo(right: Right, path: readonly string[], context: RightsContext): boolean {
  const segments = segmentsOf(right);
  return (
    path.length <= segments.length &&
    path.every((key, i) => {
      const segment = segments[i];
      if (segment !== '*') return segment === key;
      return key !== '[]' && (right.key?.(key, context) ?? true);
    })
  );
}

function judge({ context, kind }: Walk, right: Right, path: readonly string[], value: unknown): string[] {
  if (isRecord(value) && '$patch' in value) {
    return right.removable ? [] : [sentence(shown(kind, path), 'it can be changed, and not taken away')];
  }
  return !right.value || right.value.holds(value, context) ? [] : [mustBe(shown(kind, path), right.value.such)];
}

function refuse({ kind }: Walk, path: readonly string[]): string {
  const reason = kind === '' ? refusalOfPath(path.join('.')) : undefined;
  return sentence(shown(kind, path), reason ?? 'it is not among what docs/security.md lists');
}

const sentence = (what: string, reason: string): string =>
  `${what} cannot be set in a ClusterConfig: ${reason}. Leave it out, or let the platform team patch the ProviderConfig.`;
const mustBe = (what: string, such: string): string => `${what} must be ${such} in a ClusterConfig.`;

function shown(kind: string, path: readonly string[]): string {
  const keys = path.map((key) => (key === '[]' ? key : named(key)));
  const text = [...(kind === '' ? [] : [kind]), ...keys].join('.').replaceAll('.[]', '[]');
  return text === '' ? 'the document' : text;
}

function named(key: string): string {
  const short = key.length > longestKey ? `${key.slice(0, longestKey)}…` : key;
  return /^[\w./-]+$/.test(short) ? short : JSON.stringify(short);
}
