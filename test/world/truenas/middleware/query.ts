import { noMatchFound } from './errors.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  integerModel,
  isPlainObject,
  listModel,
  type MethodParameter,
  objectModel,
  type ParameterModel,
  requiredField,
  textModel,
} from './parameter-model.ts';

/** Entries in wire format. */
export type Entry = Record<string, unknown>;

/** The second parameter of a query. */
export interface QueryOptions {
  readonly extra: Record<string, unknown>;
  readonly select: readonly string[];
  readonly count: boolean;
  readonly get: boolean;
}

type Filter = readonly [string, string, unknown] | readonly ['OR', readonly unknown[]];

const operators: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '=': (left, right) => same(left, right),
  '!=': (left, right) => !same(left, right),
  in: (left, right) => contains(right, left),
  nin: (left, right) => left !== null && !contains(right, left),
  rin: (left, right) => left !== null && contains(left, right),
  rnin: (left, right) => left !== null && !contains(left, right),
  '^': (left, right) => left !== null && String(left).startsWith(String(right)),
  '!^': (left, right) => left !== null && !String(left).startsWith(String(right)),
  $: (left, right) => left !== null && String(left).endsWith(String(right)),
  '!$': (left, right) => left !== null && !String(left).endsWith(String(right)),
};

const optionsModel = objectModel({
  extra: defaultedField(dictionaryModel, {}),
  select: defaultedField(listModel(textModel()), []),
  count: defaultedField(booleanModel, false),
  get: defaultedField(booleanModel, false),
});
const filtersModel: ParameterModel = {
  read(value, path, rejections) {
    const before = rejections.length;
    const filters = listModel({ read: (item) => item }).read(value, path, rejections);
    const complaint = rejections.length === before ? filterProblem(filters as unknown[]) : undefined;
    if (complaint) rejections.push([path, `Value error, ${complaint}`, 22]);
    return filters;
  },
};

/** The two parameters of every `*.query`. */
export const queryParameters: readonly MethodParameter[] = [
  { name: 'filters', field: defaultedField(filtersModel, []) },
  { name: 'options', field: defaultedField(optionsModel, { extra: {}, select: [], count: false, get: false }) },
];

/** `get_instance(id, options)` of a CRUD namespace. */
export const instanceParameters: readonly MethodParameter[] = [
  { name: 'id', field: requiredField(integerModel()) },
  { name: 'options', field: defaultedField(optionsModel, { extra: {} }) },
];
/** Filters a list, and selects fields (middleware: utils/filter_list.py). Orders and pages are not simulated. */
export function applyQuery(entries: readonly Entry[], filters: unknown, options: QueryOptions): unknown {
  let result = entries.filter((entry) => (filters as Filter[]).every((filter) => matches(entry, filter)));
  if (options.count) return result.length;
  if (options.select.length > 0) result = result.map((entry) => selected(entry, options.select));
  if (!options.get) return result;
  if (result[0] === undefined) throw noMatchFound();
  return result[0];
}

function filterProblem(filters: readonly unknown[], depth = 0): string | undefined {
  if (depth > 3) return 'query-filters max recursion depth exceeded';
  for (const filter of filters) {
    if (!Array.isArray(filter)) return `Invalid filter ${JSON.stringify(filter)}`;
    if (filter.length === 2) {
      if (filter[0] !== 'OR') return `Invalid operation: ${filter[0]}`;
      const branches = filter[1];
      if (!Array.isArray(branches) || branches.length === 0) return 'OR filter requires at least one branch.';
      for (const branch of branches) {
        const inner = Array.isArray(branch) && Array.isArray(branch[0]) ? branch : [branch];
        const complaint = filterProblem(inner, depth + 1);
        if (complaint) return complaint;
      }
    } else if (filter.length !== 3) return `Invalid filter ${JSON.stringify(filter)}`;
    else if (!Object.hasOwn(operators, String(filter[1]))) return `Invalid operation: ${filter[1]}`;
  }
  return undefined;
}

function matches(entry: Entry, filter: Filter): boolean {
  if (filter.length === 2) {
    return (filter[1] as unknown[][]).some((branch) =>
      Array.isArray(branch[0])
        ? (branch as unknown as Filter[]).every((inner) => matches(entry, inner))
        : matches(entry, branch as unknown as Filter),
    );
  }
  const [name, operator, value] = filter;
  const left = at(entry, pathParts(name));
  return left !== undefined && (operators[operator]?.(left, value) ?? false);
}

function selected(entry: Entry, select: QueryOptions['select']): Entry {
  const result: Entry = {};
  for (const path of select) {
    const value = at(entry, pathParts(path));
    if (value === undefined) continue;
    const keys = pathParts(path);
    const last = keys.pop();
    let target = result;
    for (const key of keys) {
      target[key] ??= {};
      target = target[key] as Entry;
    }
    if (last !== undefined) target[last] = value;
  }
  return result;
}

/** Dots separate, `\.` is a dot. */
const pathParts = (path: string) => path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
const at = (entry: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((current, key) => (isPlainObject(current) ? current[key] : undefined), entry);

function same(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function contains(container: unknown, item: unknown): boolean {
  if (typeof container === 'string') return container.includes(String(item));
  if (Array.isArray(container)) return container.some((member) => same(member, item));
  return isPlainObject(container) && String(item) in container;
}
