/**
 * The allowed shape of a value. `any` is free-form (passed on to Kubernetes or containerd unchanged), an object is
 * closed: unlisted keys are unknown. `argument` is the value of an extra argument of a program.
 */
export type ValueShape = ScalarShape | 'any' | ListShape | MapShape | StructShape;

export type ScalarShape = 'text' | 'int' | 'bool' | 'base64' | 'duration' | 'argument';

export interface ListShape {
  readonly list: ValueShape;
}

export interface MapShape {
  readonly map: ValueShape;
}

export interface StructShape {
  /** Talos's name of the type, for decoder errors that contain it. */
  readonly type?: string;
  readonly fields: Readonly<Record<string, ValueShape>>;
}

export const listShape = (shape: ValueShape): ListShape => ({ list: shape });
export const mapShape = (shape: ValueShape): MapShape => ({ map: shape });

/** A closed object: first its text fields in one line, then the others by name. */
export function structShape(texts: string, others: Readonly<Record<string, ValueShape>> = {}): StructShape {
  const names = texts.split(' ').filter((name) => name !== '');
  return { fields: { ...Object.fromEntries(names.map((name) => [name, 'text' as ValueShape])), ...others } };
}

/** The same with Talos's name of the type. */
export const namedStruct = (type: string, shape: StructShape): StructShape => ({ type, ...shape });

/** The same with additional keys. */
export const extendStruct = (base: StructShape, others: Readonly<Record<string, ValueShape>>): StructShape => ({
  fields: { ...base.fields, ...others },
});
