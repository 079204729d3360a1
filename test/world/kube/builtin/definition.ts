import type { Schema } from '../schema/schema.ts';
import { conditions, flag, free, integer, kind, listBy, listOf, long, mapOf, object, text } from './parts.ts';

const anything: Schema = {};
const number: Schema = { type: 'number' };
const fields: Record<string, Schema> = {};

/** The schema of schemas. It holds itself. */
const jsonSchema: Schema = object(fields);
/** Where a schema or a truth value may stand. */
const jsonSchemaOrFlag: Schema = { properties: fields };

Object.assign(fields, {
  $schema: text,
  $ref: text,
  id: text,
  title: text,
  description: text,
  type: text,
  format: text,
  default: anything,
  example: anything,
  nullable: flag,
  enum: listOf(anything),
  pattern: text,
  minLength: long,
  maxLength: long,
  minimum: number,
  maximum: number,
  exclusiveMinimum: flag,
  exclusiveMaximum: flag,
  multipleOf: number,
  minItems: long,
  maxItems: long,
  uniqueItems: flag,
  minProperties: long,
  maxProperties: long,
  required: listOf(text),
  properties: mapOf(jsonSchema),
  additionalProperties: jsonSchemaOrFlag,
  items: jsonSchemaOrFlag,
  allOf: listOf(jsonSchema),
  anyOf: listOf(jsonSchema),
  oneOf: listOf(jsonSchema),
  not: jsonSchema,
  patternProperties: mapOf(jsonSchema),
  definitions: mapOf(jsonSchema),
  dependencies: free,
  additionalItems: jsonSchemaOrFlag,
  externalDocs: free,
  'x-kubernetes-preserve-unknown-fields': flag,
  'x-kubernetes-embedded-resource': flag,
  'x-kubernetes-int-or-string': flag,
  'x-kubernetes-list-type': text,
  'x-kubernetes-list-map-keys': listOf(text),
  'x-kubernetes-map-type': text,
  'x-kubernetes-validations': listBy(
    ['rule'],
    object({
      rule: text,
      message: text,
      messageExpression: text,
      reason: text,
      fieldPath: text,
      optionalOldSelf: flag,
    }),
  ),
});

const column = object({ name: text, type: text, format: text, description: text, priority: integer, jsonPath: text });
const names = object({
  plural: text,
  singular: text,
  kind: text,
  listKind: text,
  shortNames: listOf(text),
  categories: listOf(text),
});

export const customResourceDefinition = kind(
  'CustomResourceDefinition represents a resource that should be exposed on the API server.',
  {
    spec: object({
      group: text,
      scope: text,
      names,
      preserveUnknownFields: flag,
      conversion: object({ strategy: text, webhook: free }),
      versions: listOf(
        object({
          name: text,
          served: flag,
          storage: flag,
          deprecated: flag,
          deprecationWarning: text,
          schema: object({ openAPIV3Schema: jsonSchema }),
          subresources: object({
            status: object({}),
            scale: object({ specReplicasPath: text, statusReplicasPath: text, labelSelectorPath: text }),
          }),
          additionalPrinterColumns: listOf(column),
          selectableFields: listOf(object({ jsonPath: text })),
        }),
      ),
    }),
    status: object({ conditions, acceptedNames: names, storedVersions: listOf(text) }),
  },
);
