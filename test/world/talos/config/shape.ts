/**
 * What a value may be. `any` is free-form (passed on to Kubernetes or containerd as it is), an object is closed: a key
 * that it does not name is unknown. `argument` is the value of an extra argument of a program.
 */
export type Shape = Scalar | 'any' | List | MapOf | Struct;

export type Scalar = 'text' | 'int' | 'bool' | 'base64' | 'duration' | 'argument';

export interface List {
  readonly list: Shape;
}

export interface MapOf {
  readonly map: Shape;
}

export interface Struct {
  /** What Talos calls it, where a sentence of its decoder says so. */
  readonly type?: string;
  readonly fields: Readonly<Record<string, Shape>>;
}

export const list = (shape: Shape): List => ({ list: shape });
export const mapOf = (shape: Shape): MapOf => ({ map: shape });

/** A closed object: first its text fields in one line, then the others by name. */
export function struct(texts: string, others: Readonly<Record<string, Shape>> = {}): Struct {
  const names = texts.split(' ').filter((name) => name !== '');
  return { fields: { ...Object.fromEntries(names.map((name) => [name, 'text' as Shape])), ...others } };
}

/** The same with the name that Talos has for it. */
export const named = (type: string, shape: Struct): Struct => ({ type, ...shape });

/** The same keys with more of them. */
export const extend = (base: Struct, others: Readonly<Record<string, Shape>>): Struct => ({
  fields: { ...base.fields, ...others },
});
