import { noMatchFound, PythonException } from './errors.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  integerModel,
  isPlainObject,
  listModel,
  type MethodParameter,
  nonEmptyTextModel,
  objectModel,
  type ParameterModel,
  refinedModel,
  textModel,
} from './parameter-model.ts';

/** Entries in wire format. */
export type Entry = Record<string, unknown>;

/** The second parameter of a query. */
export interface QueryOptions {
  readonly extra: Record<string, unknown>;
  readonly order_by: readonly string[];
  readonly select: readonly (string | [string, string])[];
  readonly count: boolean;
  readonly get: boolean;
  readonly offset: number;
  readonly limit: number;
}

type Filter = readonly [string, string, unknown] | readonly ['OR', readonly unknown[]];

const operators: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '=': (left, right) => same(left, right),
  '!=': (left, right) => !same(left, right),
  '>': (left, right) => compare(left, right) > 0,
  '>=': (left, right) => compare(left, right) >= 0,
  '<': (left, right) => compare(left, right) < 0,
  '<=': (left, right) => compare(left, right) <= 0,
  '~': (left, right) => new RegExp(`^(?:${String(right)})`).test(left === null ? '' : String(left)),
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
  order_by: defaultedField(listModel(textModel()), []),
  select: defaultedField(listModel({ read: (value) => value }), []),
  count: defaultedField(booleanModel, false),
  get: defaultedField(booleanModel, false),
  offset: defaultedField(integerModel(), 0),
  limit: defaultedField(integerModel(), 0),
  force_sql_filters: defaultedField(booleanModel, false),
});
const filtersModel: ParameterModel = {
  read(value, path, refusals) {
    const before = refusals.length;
    const filters = listModel({ read: (item) => item }).read(value, path, refusals);
    const complaint = refusals.length === before ? filterProblem(filters as unknown[]) : undefined;
    if (complaint) refusals.push([path, `Value error, ${complaint}`, 22]);
    return filters;
  },
};

/** The two parameters of every `*.query`. */
export const queryParameters: readonly MethodParameter[] = [
  { name: 'filters', field: defaultedField(filtersModel, []) },
  {
    name: 'options',
    field: defaultedField(
      refinedModel(
        optionsModel,
        (options) => !(isPlainObject(options) && options['get'] === true && Number(options['limit']) > 1),
        'Invalid options combination. `get` implies a single result.',
      ),
      { extra: {}, order_by: [], select: [], count: false, get: false, offset: 0, limit: 0, force_sql_filters: false },
    ),
  },
];

/** `get_instance(id, options)` of a CRUD namespace. */
export const instanceParameters = (id: ParameterModel = integerModel()): readonly MethodParameter[] => [
  { name: 'id', field: { model: id, presence: 'required' } },
  { name: 'options', field: defaultedField(optionsModel, { extra: {} }) },
];
/** The id of an object that is known by name. */
export const textId: ParameterModel = nonEmptyTextModel;

/** Filters, orders, selects and pages a list (middleware: utils/filter_list.py). */
export function applyQuery(entries: readonly Entry[], filters: unknown, options: QueryOptions): unknown {
  let result = entries.filter((entry) => (filters as Filter[]).every((filter) => matches(entry, filter)));
  if (options.count) return result.length;
  for (const order of options.order_by) result = inOrder(result, order);
  if (options.select.length > 0) result = result.map((entry) => selected(entry, options.select));
  if (options.get) {
    const first = result[0];
    if (first === undefined) throw noMatchFound();
    return first;
  }
  const from = result.slice(options.offset);
  return options.limit > 0 ? from.slice(0, options.limit) : from;
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
    else if (!Object.hasOwn(operators, operatorOf(String(filter[1])))) return `Invalid operation: ${filter[1]}`;
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
  return matchesAt(entry, pathParts(name), operator, value);
}

function matchesAt(current: unknown, path: readonly string[], operator: string, value: unknown): boolean {
  const [head, ...rest] = path;
  if (head === undefined) return compareValues(current, operator, value);
  if (Array.isArray(current)) {
    if (head === '*') return current.some((item) => matchesAt(item, rest, operator, value));
    if (!/^\d+$/.test(head)) {
      throw new PythonException('ValueError', `${head}: must be array index or wildcard character`);
    }
    return matchesAt(current[Number(head)] ?? null, rest, operator, value);
  }
  if (!isPlainObject(current) || !(head in current)) return false;
  return matchesAt(current[head], rest, operator, value);
}

function compareValues(left: unknown, operator: string, right: unknown): boolean {
  const fold = operator.startsWith('C') ? foldCase : (value: unknown) => value;
  const run = operators[operatorOf(operator)];
  if (!run) throw new PythonException('ValueError', `Invalid operation: ${operator}`);
  return run(fold(left), fold(right));
}

function inOrder(entries: readonly Entry[], order: string): Entry[] {
  const nulls = /^nulls_(first|last):/.exec(order);
  const rest = nulls ? order.slice(nulls[0].length) : order;
  const path = pathParts(rest.replace(/^-/, ''));
  const sign = rest.startsWith('-') ? -1 : 1;
  const withKey = entries.map((entry) => ({ entry, key: at(entry, path) }));
  const sortable = nulls ? withKey.filter(({ key }) => key !== null && key !== undefined) : withKey;
  const without = nulls ? withKey.filter(({ key }) => key === null || key === undefined) : [];
  const sorted = [...sortable].sort((a, b) => sign * compare(a.key, b.key));
  return (nulls?.[1] === 'first' ? [...without, ...sorted] : [...sorted, ...without]).map(({ entry }) => entry);
}

function selected(entry: Entry, select: QueryOptions['select']): Entry {
  const result: Entry = {};
  for (const item of select) {
    const [path, as] = typeof item === 'string' ? [item, undefined] : item;
    const value = at(entry, pathParts(path));
    if (value === undefined) continue;
    if (as !== undefined) {
      result[as] = value;
      continue;
    }
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

const operatorOf = (operator: string) => (operator.startsWith('C') ? operator.slice(1) : operator);
/** Dots separate, `\.` is a dot. */
const pathParts = (path: string) => path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
const at = (entry: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((current, key) => (isPlainObject(current) ? current[key] : undefined), entry);

function foldCase(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  return Array.isArray(value) ? value.map(foldCase) : value;
}

function same(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function compare(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return String(left) < String(right) ? -1 : String(left) > String(right) ? 1 : 0;
}

function contains(container: unknown, item: unknown): boolean {
  if (typeof container === 'string') return container.includes(String(item));
  if (Array.isArray(container)) return container.some((member) => same(member, item));
  return isPlainObject(container) && String(item) in container;
}
