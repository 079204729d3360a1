/**
 * What a value may be. `any` is free-form (passed on to Kubernetes or containerd as it is), an object is closed: a key
 * that it does not name is unknown.
 */
export type Shape = 'text' | 'int' | 'bool' | 'any' | List | MapOf | Struct;

export interface List {
  readonly list: Shape;
}

export interface MapOf {
  readonly map: Shape;
}

export interface Struct {
  readonly fields: Readonly<Record<string, Shape>>;
}

export const list = (shape: Shape): List => ({ list: shape });
export const mapOf = (shape: Shape): MapOf => ({ map: shape });

/** A closed object: first its text fields in one line, then the others by name. */
export function struct(texts: string, others: Readonly<Record<string, Shape>> = {}): Struct {
  const names = texts.split(' ').filter((name) => name !== '');
  return { fields: { ...Object.fromEntries(names.map((name) => [name, 'text' as Shape])), ...others } };
}

/** The same keys with more of them. */
export const extend = (base: Struct, others: Readonly<Record<string, Shape>>): Struct => ({
  fields: { ...base.fields, ...others },
});

export interface Misfit {
  readonly path: string;
  readonly message: string;
}

/** The unknown keys of `value`, in the nested form in which Talos names them, or undefined when there are none. */
export function unknownKeys(value: unknown, shape: Shape): unknown {
  if (typeof shape === 'string' || value === null || value === undefined) return undefined;
  if ('list' in shape) {
    if (!Array.isArray(value)) return undefined;
    const found = value.map((item) => unknownKeys(item, shape.list)).filter((item) => item !== undefined);
    return found.length > 0 ? found : undefined;
  }
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const found: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const inner = 'map' in shape ? shape.map : shape.fields[key];
    const unknown = inner === undefined ? (item ?? {}) : unknownKeys(item, inner);
    if (unknown !== undefined) found[key] = unknown;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** The first value of a wrong type, as a YAML decoder would stumble over it. */
export function wrongType(value: unknown, shape: Shape, path = ''): Misfit | undefined {
  if (value === null || value === undefined || shape === 'any') return undefined;
  if (typeof shape === 'string') return scalarFits(value, shape) ? undefined : misfit(path, value, shape);
  if ('list' in shape) {
    if (!Array.isArray(value)) return misfit(path, value, 'list');
    return first(value.map((item, index) => () => wrongType(item, shape.list, `${path}[${index}]`)));
  }
  if (typeof value !== 'object' || Array.isArray(value)) return misfit(path, value, 'map');
  return first(
    Object.entries(value).map(([key, item]) => () => {
      const inner = 'map' in shape ? shape.map : shape.fields[key];
      return inner === undefined ? undefined : wrongType(item, inner, `${path}.${key}`);
    }),
  );
}

/** YAML decodes any scalar into a string; numbers and booleans have to be what they are. */
function scalarFits(value: unknown, shape: 'text' | 'int' | 'bool'): boolean {
  if (shape === 'bool') return typeof value === 'boolean';
  if (shape === 'int') return typeof value === 'number' && Number.isInteger(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

const misfit = (path: string, value: unknown, wanted: string): Misfit => ({
  path,
  message: `cannot unmarshal ${Array.isArray(value) ? '!!seq' : typeof value === 'object' ? '!!map' : `\`${String(value).slice(0, 7)}\``} into ${wanted} (${path.replace(/^\./, '')})`,
});

function first<T>(checks: readonly (() => T | undefined)[]): T | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}
