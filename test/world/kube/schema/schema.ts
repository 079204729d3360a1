/** A schema of a CustomResourceDefinition (`JSONSchemaProps`), with the Kubernetes extensions. */
export interface ObjectSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly additionalProperties?: ObjectSchema | boolean;
  readonly items?: ObjectSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly anyOf?: readonly ObjectSchema[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export const preservesUnknownFields = (schema: ObjectSchema): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true;

export const isIntOrString = (schema: ObjectSchema): boolean => schema['x-kubernetes-int-or-string'] === true;

/** The schema of a map's values, or undefined for other schemas. */
export const valueSchema = (schema: ObjectSchema): ObjectSchema | undefined =>
  typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;

/** The schema of one field, declared or as a map's value. */
export const fieldSchema = (schema: ObjectSchema | undefined, name: string): ObjectSchema | undefined =>
  schema?.properties?.[name] ?? (schema ? valueSchema(schema) : undefined);

export const childPath = (path: string, name: string): string => (path ? `${path}.${name}` : name);

/** Maps are indexed by key in error paths, objects by field. */
export const indexedPath = (path: string, key: string | number): string => `${path}[${key}]`;
