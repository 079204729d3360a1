import { type ArgumentError, ArgumentsError, errnos } from './errors.ts';

/**
 * Parameter models: the values that the middleware's pydantic models accept, and their error messages. Types are strict
 * (no "5" for 5), unknown keys are refused, strings have at most 1024 characters unless stated otherwise.
 */
export interface ParameterModel {
  read(value: unknown, path: string, rejections: ArgumentError[]): unknown;
}

/** A key of an object: required, with a default, or absent when not given. */
export interface ModelField {
  readonly model: ParameterModel;
  readonly presence: 'required' | 'default' | 'optional';
  readonly fallback?: unknown;
}

/** A model of an object that exposes its fields. */
export interface ObjectModel extends ParameterModel {
  readonly fields: Readonly<Record<string, ModelField>>;
}

/** A required key. */
export const requiredField = (model: ParameterModel): ModelField => ({ model, presence: 'required' });
/** A key with a default. */
export const defaultedField = (model: ParameterModel, fallback: unknown): ModelField => ({
  model,
  presence: 'default',
  fallback,
});
/** An optional key without a default, as in the models of updates, where every key is optional. */
export const optionalField = (model: ParameterModel): ModelField => ({ model, presence: 'optional' });
const addArgumentError = (rejections: ArgumentError[], path: string, message: string): undefined => {
  rejections.push([path, message, errnos.EINVAL]);
  return undefined;
};

const model = (accepts: (value: unknown) => boolean, message: string): ParameterModel => ({
  read: (value, path, rejections) => (accepts(value) ? value : addArgumentError(rejections, path, message)),
});

/** A boolean. */
export const booleanModel: ParameterModel = model(
  (value) => typeof value === 'boolean',
  'Input should be a valid boolean',
);
/** Any object. */
export const dictionaryModel: ParameterModel = model(isPlainObject, 'Input should be a valid dictionary');

/** Limits of a string, in characters. */
export interface TextLimits {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
}

/** A string of at most 1024 characters unless stated otherwise. */
export function textModel({ min = 0, max = 1024, pattern }: TextLimits = {}): ParameterModel {
  const expression = pattern === undefined ? undefined : new RegExp(pattern);
  return {
    read(value, path, rejections) {
      if (typeof value !== 'string') return addArgumentError(rejections, path, 'Input should be a valid string');
      const length = [...value].length;
      if (length < min) return addArgumentError(rejections, path, `String should have at least ${min} ${plural(min)}`);
      if (length > max) return addArgumentError(rejections, path, `String should have at most ${max} ${plural(max)}`);
      if (expression && !expression.test(value))
        return addArgumentError(rejections, path, `String should match pattern '${pattern}'`);
      return value;
    },
  };
}

/** A string of at least one character. */
export const nonEmptyTextModel: ParameterModel = textModel({ min: 1 });

/** An integer. */
export function integerModel({ min, max }: { readonly min?: number; readonly max?: number } = {}): ParameterModel {
  return {
    read(value, path, rejections) {
      if (typeof value !== 'number' || !Number.isInteger(value)) {
        return addArgumentError(rejections, path, 'Input should be a valid integer');
      }
      if (min !== undefined && value < min)
        return addArgumentError(rejections, path, `Input should be greater than or equal to ${min}`);
      if (max !== undefined && value > max)
        return addArgumentError(rejections, path, `Input should be less than or equal to ${max}`);
      return value;
    },
  };
}

/** One of these values. */
export function literalModel(...values: readonly (string | number | null)[]): ParameterModel {
  const shown = values.map((value) =>
    typeof value === 'string' ? `'${value}'` : value === null ? 'None' : String(value),
  );
  const list = shown.length > 1 ? `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}` : shown.join('');
  return model((value) => values.includes(value as string), `Input should be ${list}`);
}

/** Null, or a value of `inner`. */
export function nullableModel(inner: ParameterModel): ParameterModel {
  return { read: (value, path, rejections) => (value === null ? null : inner.read(value, path, rejections)) };
}

/** A list of `inner`. */
export function listModel(inner: ParameterModel): ParameterModel {
  return {
    read(value, path, rejections) {
      if (!Array.isArray(value)) return addArgumentError(rejections, path, 'Input should be a valid list');
      return value.map((item, index) => inner.read(item, `${path}.${index}`, rejections));
    },
  };
}

/** Further constraints of an object. */
interface ObjectRule {
  /** Runs when all keys are valid and may return an error message. */
  readonly check?: (value: Record<string, unknown>) => string | undefined;
  /** The class of the middleware's model. */
  readonly name?: string;
}

/** An object with exactly these keys. */
export function objectModel(
  fields: Readonly<Record<string, ModelField>>,
  { check, name = 'model' }: ObjectRule = {},
): ObjectModel {
  return {
    fields,
    read(value, path, rejections) {
      if (!isPlainObject(value))
        return addArgumentError(rejections, path, `Input should be a valid dictionary or instance of ${name}`);
      const before = rejections.length;
      const result: Record<string, unknown> = {};
      for (const [key, field] of Object.entries(fields)) {
        const at = join(path, key);
        if (key in value) result[key] = field.model.read(value[key], at, rejections);
        else if (field.presence === 'default') result[key] = structuredClone(field.fallback);
        else if (field.presence === 'required') addArgumentError(rejections, at, 'Field required');
      }
      for (const key of Object.keys(value)) {
        if (!(key in fields)) addArgumentError(rejections, join(path, key), 'Extra inputs are not permitted');
      }
      const complaint = rejections.length === before ? check?.(result) : undefined;
      return complaint ? addArgumentError(rejections, path, `Value error, ${complaint}`) : result;
    },
  };
}

/** The model of an update: every key is optional and has no default. */
export function partialModel(full: ObjectModel, without: readonly string[] = [], name?: string): ObjectModel {
  const kept = Object.entries(full.fields).filter(([key]) => !without.includes(key));
  const fields = Object.fromEntries(kept.map(([key, field]) => [key, optionalField(field.model)]));
  return objectModel(fields, name === undefined ? {} : { name });
}

/** A union with a discriminator key, whose value is part of the error path. */
export function taggedUnionModel(key: string, models: Readonly<Record<string, ParameterModel>>): ParameterModel {
  const tags = Object.keys(models)
    .map((tag) => `'${tag}'`)
    .join(', ');
  return {
    read(value, path, rejections) {
      if (!isPlainObject(value))
        return addArgumentError(
          rejections,
          path,
          'Input should be a valid dictionary or object to extract fields from',
        );
      if (!(key in value)) return addArgumentError(rejections, join(path, key), 'Field required');
      const tag = String(value[key]);
      const chosen = Object.hasOwn(models, tag) ? models[tag] : undefined;
      if (chosen) return chosen.read(value, join(path, tag), rejections);
      const message = `Input tag '${tag}' found using '${key}' does not match any of the expected tags: ${tags}`;
      return addArgumentError(rejections, path, message);
    },
  };
}

/** A plain union: the first match. Without a match, the errors of all members, each below its name. */
export function unionModel(models: Readonly<Record<string, ParameterModel>>): ParameterModel {
  return {
    read(value, path, rejections) {
      const all: ArgumentError[] = [];
      for (const [name, inner] of Object.entries(models)) {
        const own: ArgumentError[] = [];
        const result = inner.read(value, join(path, name), own);
        if (own.length === 0) return result;
        all.push(...own);
      }
      rejections.push(...all);
      return undefined;
    },
  };
}

/** A condition on top of a model, with its error message. */
export function refinedModel(
  inner: ParameterModel,
  holds: (value: unknown) => boolean,
  message: string,
): ParameterModel {
  return {
    read(value, path, rejections) {
      const before = rejections.length;
      const result = inner.read(value, path, rejections);
      if (rejections.length > before || holds(result)) return result;
      return addArgumentError(rejections, path, `Value error, ${message}`);
    },
  };
}

/** One positional argument. */
export interface MethodParameter {
  readonly name: string;
  readonly field: ModelField;
}

/** Positional arguments, complete with defaults. Throws a ValidationError that lists all errors. */
export function parseMethodArguments(parameters: readonly MethodParameter[], given: readonly unknown[]): unknown[] {
  if (given.length > parameters.length) {
    const message = `Too many arguments (expected ${parameters.length}, found ${given.length})`;
    throw new ArgumentsError([['', message, errnos.EINVAL]]);
  }
  const rejections: ArgumentError[] = [];
  const result = parameters.map(({ name, field }, index) => {
    if (index < given.length) return field.model.read(given[index], name, rejections);
    if (field.presence === 'required') return addArgumentError(rejections, name, 'Field required');
    return structuredClone(field.fallback);
  });
  if (rejections.length > 0) throw new ArgumentsError(rejections);
  return result;
}

/** Parses one value by a model, outside of a call. */
export function parseValue(inner: ParameterModel, value: unknown, path = ''): unknown {
  const rejections: ArgumentError[] = [];
  const result = inner.read(value, path, rejections);
  if (rejections.length > 0) throw new ArgumentsError(rejections);
  return result;
}

/** Whether a value is an object and not a list. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const join = (path: string, key: string) => (path ? `${path}.${key}` : key);
const plural = (count: number) => (count === 1 ? 'character' : 'characters');
