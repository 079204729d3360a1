import { type FieldError, fieldErrors } from '../errors.ts';
import { asArray, asObject, equal, isObject, type JsonObject } from '../json.ts';
import { patternProblem } from './re2.ts';
import { indexedPath, type ObjectSchema } from './schema.ts';

/**
 * Whether a schema is structural: every field has one type outside of logical junctors, and the API server can prune
 * and default everything (`apiextensions-apiserver: pkg/apiserver/schema/validation.go`).
 */
export function structuralErrors(schema: ObjectSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  inspect(schema, path, 'root', errors);
  return errors;
}

type SchemaLevel = 'root' | 'item' | 'field';

const emptyType: Readonly<Record<SchemaLevel, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function inspect(schema: ObjectSchema, path: string, level: SchemaLevel, errors: FieldError[]): void {
  checkType(schema, path, level, errors);
  checkResource(schema, path, level, errors);
  if (schema.items) inspect(schema.items, `${path}.items`, 'item', errors);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const here = indexedPath(`${path}.properties`, name);
    // The metadata of a resource has its own schema; its constraints are checked with the resource.
    const isMetadata = name === 'metadata' && (level === 'root' || schema['x-kubernetes-embedded-resource'] === true);
    if (!isMetadata) inspect(property, here, 'field', errors);
  }
  if (isObject(schema.additionalProperties)) {
    if (level === 'root')
      errors.push(fieldErrors.forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
    inspect(schema.additionalProperties, `${path}.additionalProperties`, 'field', errors);
  }
  checkLogic(schema, path, errors, isIntOrStringPattern(schema.anyOf));
}

function checkType(schema: ObjectSchema, path: string, level: SchemaLevel, errors: FieldError[]): void {
  if (schema.type === 'array' && !schema.items) errors.push(fieldErrors.required(`${path}.items`, 'must be specified'));
  const isOpen =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (!schema.type && !isOpen) errors.push(fieldErrors.required(`${path}.type`, emptyType[level]));
  if (level === 'root' && schema.type && schema.type !== 'object') {
    errors.push(fieldErrors.invalid(`${path}.type`, schema.type, 'must be object at the root'));
  }
  if (schema['x-kubernetes-int-or-string'] && schema['x-kubernetes-preserve-unknown-fields']) {
    errors.push(
      fieldErrors.invalid(
        `${path}.x-kubernetes-preserve-unknown-fields`,
        true,
        'must be false if x-kubernetes-int-or-string is true',
      ),
    );
  }
}

function checkResource(schema: ObjectSchema, path: string, level: SchemaLevel, errors: FieldError[]): void {
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  if (isEmbedded && schema.type !== 'object') {
    errors.push(fieldErrors.required(`${path}.type`, 'must be object if x-kubernetes-embedded-resource is true'));
  }
  const metadata = schema.properties?.['metadata'];
  if (level !== 'root' || !metadata) return;
  if (metadata.type !== 'object') {
    errors.push(
      fieldErrors.invalid(
        indexedPath(`${path}.properties`, 'metadata').concat('.type'),
        metadata.type ?? '',
        'must be object',
      ),
    );
  }
  const { type: _type, properties = {}, description: _description, default: _default, ...rest } = metadata;
  const isPlain = Object.keys(properties).every((name) => name === 'name' || name === 'generateName');
  if (!isPlain || Object.keys(rest).length > 0) {
    errors.push(
      fieldErrors.forbidden(
        indexedPath(`${path}.properties`, 'metadata'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  }
}

const intOrString = [{ type: 'integer' }, { type: 'string' }];
const isIntOrStringPattern = (parts: readonly ObjectSchema[] | undefined): boolean => equal(parts, intOrString);

function checkEach(schema: ObjectSchema, word: 'anyOf' | 'oneOf', path: string, errors: FieldError[]): void {
  schema[word]?.forEach((part, i) => {
    checkNested(part, schema, indexedPath(`${path}.${word}`, i), errors);
  });
}

function checkLogic(schema: ObjectSchema, path: string, errors: FieldError[], skipAnyOf: boolean): void {
  if (!skipAnyOf) checkEach(schema, 'anyOf', path, errors);
  schema.allOf?.forEach((part, i) => {
    const isPattern = i === 0 && isIntOrStringPattern(part.anyOf);
    checkNested(part, schema, indexedPath(`${path}.allOf`, i), errors, isPattern);
  });
  checkEach(schema, 'oneOf', path, errors);
  if (schema.not) checkNested(schema.not, schema, `${path}.not`, errors);
  const problem = schema.pattern ? patternProblem(schema.pattern) : undefined;
  if (problem) {
    errors.push(
      fieldErrors.invalid(
        `${path}.pattern`,
        schema.pattern,
        `must be a valid regular expression, but isn't: ${problem}`,
      ),
    );
  }
}

/** Keywords that are forbidden inside logical junctors, and the end of their error message. */
const forbidden: readonly (readonly [keyof ObjectSchema, string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

function checkNested(
  part: ObjectSchema,
  outside: ObjectSchema | undefined,
  path: string,
  errors: FieldError[],
  skipAnyOf = false,
): void {
  for (const [word, text] of forbidden) {
    if (part[word] !== undefined && part[word] !== false) errors.push(fieldErrors.forbidden(`${path}.${word}`, text));
  }
  checkLogic(part, path, errors, skipAnyOf);
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const here = indexedPath(`${path}.properties`, name);
    if (name === 'metadata') errors.push(fieldErrors.forbidden(here, 'must not be specified in a nested context'));
    const known = outside?.properties?.[name];
    // A field inside a logical junctor must also have a type outside of it.
    if (!known && outside && !isObject(outside.additionalProperties)) {
      errors.push(fieldErrors.required(`${outsideOf(path)}.properties[${name}]`, `because it is defined in ${here}`));
    }
    checkNested(property, known, here, errors);
  }
  if (part.items) checkNested(part.items, outside?.items, `${path}.items`, errors);
}

const outsideOf = (path: string): string => path.replace(/\.(anyOf|allOf|oneOf)\[\d+\].*$|\.not.*$/, '');

const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref', '$schema'];
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** Keywords that no CRD schema may contain, structural or not (`pkg/apis/apiextensions/validation`). */
export function forbiddenSchemaFieldErrors(schema: ObjectSchema, path: string): FieldError[] {
  const raw = schema as JsonObject;
  const errors: FieldError[] = unsupported
    .filter((word) => raw[word] !== undefined && word !== '$schema')
    .map((word) => fieldErrors.forbidden(`${path}.${word}`, `${word} is not supported`));
  if (schema.type && !types.includes(schema.type))
    errors.push(fieldErrors.unsupported(`${path}.type`, schema.type, types));
  if (schema.uniqueItems === true) {
    errors.push(
      fieldErrors.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
  if (schema.additionalProperties === false) {
    errors.push(fieldErrors.forbidden(`${path}.additionalProperties`, 'additionalProperties cannot be set to false'));
  } else if (schema.additionalProperties !== undefined && Object.keys(schema.properties ?? {}).length > 0) {
    errors.push(
      fieldErrors.forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    );
  }
  errors.push(...listErrors(schema, path), ...mapErrors(schema, path), ...nestedSchemaErrors(schema, path));
  return errors;
}

function nestedSchemaErrors(schema: ObjectSchema, path: string): FieldError[] {
  const parts: [ObjectSchema, string][] = Object.entries(schema.properties ?? {}).map(([name, part]) => [
    part,
    indexedPath(`${path}.properties`, name),
  ]);
  if (schema.items) parts.push([schema.items, `${path}.items`]);
  if (isObject(schema.additionalProperties)) parts.push([schema.additionalProperties, `${path}.additionalProperties`]);
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
    schema[word]?.forEach((part, i) => {
      parts.push([part, indexedPath(`${path}.${word}`, i)]);
    });
  }
  if (schema.not) parts.push([schema.not, `${path}.not`]);
  return parts.flatMap(([part, here]) => forbiddenSchemaFieldErrors(part, here));
}

function mapErrors(schema: ObjectSchema, path: string): FieldError[] {
  const type = schema['x-kubernetes-map-type'];
  if (type === undefined) return [];
  const errors: FieldError[] = [];
  if (schema.type !== 'object') {
    errors.push(
      fieldErrors.invalid(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-map-type is specified'),
    );
  }
  if (!['atomic', 'granular'].includes(type)) {
    errors.push(fieldErrors.unsupported(`${path}.x-kubernetes-map-type`, type, ['atomic', 'granular']));
  }
  return errors;
}

function listErrors(schema: ObjectSchema, path: string): FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const errors: FieldError[] = [];
  if (type !== undefined && schema.type !== 'array') {
    errors.push(
      fieldErrors.invalid(`${path}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'),
    );
  }
  if (type !== undefined && !['atomic', 'set', 'map'].includes(type)) {
    errors.push(fieldErrors.unsupported(`${path}.x-kubernetes-list-type`, type, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && type !== 'map') {
    const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
    errors.push(
      type === undefined
        ? fieldErrors.required(`${path}.x-kubernetes-list-type`, text)
        : fieldErrors.invalid(`${path}.x-kubernetes-list-type`, type, text),
    );
  }
  if (type === 'set' && schema.items?.type === 'object' && schema.items['x-kubernetes-map-type'] !== 'atomic') {
    errors.push(
      fieldErrors.invalid(
        `${path}.items.x-kubernetes-map-type`,
        null,
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  }
  return type === 'map' ? [...errors, ...mapListErrors(schema, keys, path)] : errors;
}

function mapListErrors(schema: ObjectSchema, keys: readonly string[], path: string): FieldError[] {
  const { items } = schema;
  const errors: FieldError[] = [];
  if (keys.length === 0) {
    errors.push(
      fieldErrors.required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'),
    );
  }
  if (!items)
    return [...errors, fieldErrors.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')];
  if (items.type !== 'object') {
    errors.push(
      fieldErrors.invalid(
        `${path}.items.type`,
        items.type ?? '',
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    );
  }
  if (new Set(keys).size < keys.length) {
    errors.push(fieldErrors.invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'must not contain duplicate entries'));
  }
  for (const key of keys) {
    const property = asObject(items.properties)[key] as ObjectSchema | undefined;
    if (!property) {
      errors.push(
        fieldErrors.invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'entries must all be names of item properties'),
      );
    } else if (property.default === undefined && !asArray(items.required).includes(key)) {
      errors.push(
        fieldErrors.required(
          indexedPath(`${path}.items.properties`, key).concat('.default'),
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
    }
  }
  return errors;
}
