import type { ApiResource } from '../builtin/resources.ts';
import { ApiError, badRequestError } from '../errors.ts';
import { valueAtPath } from '../json.ts';
import type { ApiObject } from './store.ts';

export type ObjectMatcher = (object: ApiObject) => boolean;

const everything: ObjectMatcher = () => true;

const key = '([A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?(?:/[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?)';
const setBased = new RegExp(`^${key}\\s+(in|notin)\\s+\\(([^)]*)\\)$`);
const equality = new RegExp(`^${key}\\s*(==|=|!=)\\s*([-A-Za-z0-9_.]*)$`);
const compared = new RegExp(`^${key}\\s*(<|>)\\s*(-?\\d+)$`);
const presence = new RegExp(`^(!?)\\s*${key}$`);

/** Parses a label selector, equality- and set-based. Throws 400 for an invalid one. */
export function labelMatcher(selector: string | null): ObjectMatcher {
  if (!selector) return everything;
  const parts = splitOutsideBrackets(selector).map((part) => labelRequirement(part.trim(), selector));
  return (object) => parts.every((part) => part(object.metadata.labels ?? {}));
}

function splitOutsideBrackets(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}

function labelRequirement(part: string, whole: string): (labels: Record<string, string>) => boolean {
  const set = setBased.exec(part);
  if (set) {
    const [, name = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    if (operator === 'in') return (labels) => name in labels && values.has(labels[name] ?? '');
    return (labels) => !(name in labels) || !values.has(labels[name] ?? '');
  }
  const equals = equality.exec(part);
  if (equals) {
    const [, name = '', operator, value] = equals;
    return operator === '!=' ? (labels) => labels[name] !== value : (labels) => labels[name] === value;
  }
  const ordered = compared.exec(part);
  if (ordered) {
    const [, name = '', operator, bound = '0'] = ordered;
    return (labels) => {
      const value = Number.parseInt(labels[name] ?? '', 10);
      return operator === '<' ? value < Number(bound) : value > Number(bound);
    };
  }
  const exists = presence.exec(part);
  if (!exists)
    throw badRequestError(`unable to parse requirement: found '${part}', expected: a label selector, in "${whole}"`);
  const [, negated, name = ''] = exists;
  return negated ? (labels) => !(name in labels) : (labels) => name in labels;
}

/** Parses a field selector over metadata.name, metadata.namespace and the `selectable` paths. Throws 400 for others. */
export function fieldMatcher(
  selector: string | null,
  { selectable, namespaced, definition }: Pick<ApiResource, 'selectable' | 'namespaced' | 'definition'>,
): ObjectMatcher {
  const isCustom = definition !== undefined;
  if (!selector) return everything;
  const parts = selector.split(/(?<!\\),/).map((part) => {
    const found = /^([^=!]+)(!=|==|=)(.*)$/.exec(part);
    if (!found) throw badRequestError(`invalid selector: '${selector}'; can't understand '${part}'`);
    const [, path = '', operator, raw = ''] = found;
    const known =
      path === 'metadata.name' || (namespaced && path === 'metadata.namespace') || selectable.includes(path);
    if (!known) throw unknownField(path, selectable, namespaced, isCustom);
    const value = raw.replace(/\\([\\,=])/g, '$1');
    const wanted = operator !== '!=';
    return (object: ApiObject) => (fieldText(object, path) === value) === wanted;
  });
  return (object) => parts.every((part) => part(object));
}

function unknownField(path: string, selectable: readonly string[], namespaced: boolean, isCustom: boolean): ApiError {
  if (isCustom || selectable.length > 0) return badRequestError(`field label not supported: ${path}`);
  const known = namespaced ? '"metadata.name", "metadata.namespace"' : '"metadata.name"';
  return badRequestError(`${JSON.stringify(path)} is not a known field selector: only ${known}`);
}

function fieldText(object: ApiObject, path: string): string {
  const value = valueAtPath(object, path);
  if (path === 'source')
    return String(valueAtPath(object, 'source.component') ?? valueAtPath(object, 'reportingComponent') ?? '');
  if (value === undefined || value === null) return path === 'spec.unschedulable' ? 'false' : '';
  return String(value);
}

export const matchesBoth =
  (a: ObjectMatcher, b: ObjectMatcher): ObjectMatcher =>
  (object) =>
    a(object) && b(object);

/** Whether labels match a LabelSelector object (matchLabels, matchExpressions). */
export function matchesSelectorObject(
  selector: {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  },
  labels: Record<string, string>,
): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
  return equal && (selector.matchExpressions ?? []).every((one) => matchesExpression(one, labels));
}

function matchesExpression(
  { key: name, operator, values = [] }: { key: string; operator: string; values?: string[] },
  labels: Record<string, string>,
): boolean {
  switch (operator) {
    case 'In':
      return name in labels && values.includes(labels[name] ?? '');
    case 'NotIn':
      return !(name in labels) || !values.includes(labels[name] ?? '');
    case 'Exists':
      return name in labels;
    case 'DoesNotExist':
      return !(name in labels);
    default:
      throw new ApiError(422, 'Invalid', `"${operator}" is not a valid label selector operator`);
  }
}
