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
  if (level === 'root') checkMetadata(schema, path, errors);
  if (schema.items) inspect(schema.items, `${path}.items`, 'item', errors);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const here = indexedPath(`${path}.properties`, name);
    // The metadata of a resource has its own schema; its constraints are checked with the resource.
    const isMetadata = name === 'metadata' && level === 'root';
    if (!isMetadata) inspect(property, here, 'field', errors);
  }
  if (isObject(schema.additionalProperties)) {
    if (level === 'root')
      errors.push(fieldErrors.forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
    inspect(schema.additionalProperties, `${path}.additionalProperties`, 'field', errors);
  }
  checkAnyOf(schema, path, errors);
  checkPattern(schema, path, errors);
}

function checkType(schema: ObjectSchema, path: string, level: SchemaLevel, errors: FieldError[]): void {
  if (schema.type === 'array' && !schema.items) errors.push(fieldErrors.required(`${path}.items`, 'must be specified'));
  const isOpen =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (!schema.type && !isOpen) errors.push(fieldErrors.required(`${path}.type`, emptyType[level]));
  if (level === 'root' && schema.type && schema.type !== 'object') {
    errors.push(fieldErrors.invalid(`${path}.type`, schema.type, 'must be object at the root'));
  }
}

function checkMetadata(schema: ObjectSchema, path: string, errors: FieldError[]): void {
  const metadata = schema.properties?.['metadata'];
  if (!metadata) return;
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

/** Inside of `anyOf`, whose only use is the pattern of int-or-string, a type is not structural. */
function checkAnyOf(schema: ObjectSchema, path: string, errors: FieldError[]): void {
  if (equal(schema.anyOf, intOrString)) return;
  schema.anyOf?.forEach((part, i) => {
    if (part.type === undefined) return;
    errors.push(fieldErrors.forbidden(`${indexedPath(`${path}.anyOf`, i)}.type`, 'must be empty to be structural'));
  });
}

function checkPattern({ pattern }: ObjectSchema, path: string, errors: FieldError[]): void {
  const problem = pattern ? patternProblem(pattern) : undefined;
  if (!problem) return;
  const text = `must be a valid regular expression, but isn't: ${problem}`;
  errors.push(fieldErrors.invalid(`${path}.pattern`, pattern, text));
}

const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'];
/** Keywords of the real server that no definition here uses: a definition with one is refused. */
const notSimulated = ['allOf', 'oneOf', 'not', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'].concat([
  'minProperties',
  'x-kubernetes-embedded-resource',
]);
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** Keywords that no CRD schema may contain, structural or not (`pkg/apis/apiextensions/validation`). */
export function forbiddenSchemaFieldErrors(schema: ObjectSchema, path: string): FieldError[] {
  const raw = schema as JsonObject;
  const errors: FieldError[] = [
    ...unsupported.map((word) => [word, `${word} is not supported`] as const),
    ...notSimulated.map((word) => [word, `${word} is not simulated`] as const),
  ].flatMap(([word, text]) => (raw[word] === undefined ? [] : [fieldErrors.forbidden(`${path}.${word}`, text)]));
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
  errors.push(...listErrors(schema, path), ...nestedSchemaErrors(schema, path));
  return errors;
}

function nestedSchemaErrors(schema: ObjectSchema, path: string): FieldError[] {
  const parts: [ObjectSchema, string][] = Object.entries(schema.properties ?? {}).map(([name, part]) => [
    part,
    indexedPath(`${path}.properties`, name),
  ]);
  if (schema.items) parts.push([schema.items, `${path}.items`]);
  if (isObject(schema.additionalProperties)) parts.push([schema.additionalProperties, `${path}.additionalProperties`]);
  return parts.flatMap(([part, here]) => forbiddenSchemaFieldErrors(part, here));
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
