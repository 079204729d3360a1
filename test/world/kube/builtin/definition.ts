import type { ObjectSchema } from '../schema/schema.ts';
import {
  atomicListSchema,
  conditionsSchema,
  flagSchema,
  freeFormSchema,
  int32Schema,
  int64Schema,
  keyedListSchema,
  kindSchema,
  mapSchema,
  structSchema,
  textSchema,
} from './schema-parts.ts';

const anything: ObjectSchema = {};
const number: ObjectSchema = { type: 'number' };
const fields: Record<string, ObjectSchema> = {};

/** The schema of schemas. It is recursive. */
const jsonSchema: ObjectSchema = structSchema(fields);
/** A schema or a boolean. */
const jsonSchemaOrFlag: ObjectSchema = { properties: fields };

Object.assign(fields, {
  $schema: textSchema,
  $ref: textSchema,
  id: textSchema,
  title: textSchema,
  description: textSchema,
  type: textSchema,
  format: textSchema,
  default: anything,
  example: anything,
  nullable: flagSchema,
  enum: atomicListSchema(anything),
  pattern: textSchema,
  minLength: int64Schema,
  maxLength: int64Schema,
  minimum: number,
  maximum: number,
  exclusiveMinimum: flagSchema,
  exclusiveMaximum: flagSchema,
  multipleOf: number,
  minItems: int64Schema,
  maxItems: int64Schema,
  uniqueItems: flagSchema,
  minProperties: int64Schema,
  maxProperties: int64Schema,
  required: atomicListSchema(textSchema),
  properties: mapSchema(jsonSchema),
  additionalProperties: jsonSchemaOrFlag,
  items: jsonSchemaOrFlag,
  allOf: atomicListSchema(jsonSchema),
  anyOf: atomicListSchema(jsonSchema),
  oneOf: atomicListSchema(jsonSchema),
  not: jsonSchema,
  patternProperties: mapSchema(jsonSchema),
  definitions: mapSchema(jsonSchema),
  dependencies: freeFormSchema,
  additionalItems: jsonSchemaOrFlag,
  externalDocs: freeFormSchema,
  'x-kubernetes-preserve-unknown-fields': flagSchema,
  'x-kubernetes-embedded-resource': flagSchema,
  'x-kubernetes-int-or-string': flagSchema,
  'x-kubernetes-list-type': textSchema,
  'x-kubernetes-list-map-keys': atomicListSchema(textSchema),
  'x-kubernetes-map-type': textSchema,
  'x-kubernetes-validations': keyedListSchema(
    ['rule'],
    structSchema({
      rule: textSchema,
      message: textSchema,
      messageExpression: textSchema,
      reason: textSchema,
      fieldPath: textSchema,
      optionalOldSelf: flagSchema,
    }),
  ),
});

const column = structSchema({
  name: textSchema,
  type: textSchema,
  format: textSchema,
  description: textSchema,
  priority: int32Schema,
  jsonPath: textSchema,
});
const names = structSchema({
  plural: textSchema,
  singular: textSchema,
  kind: textSchema,
  listKind: textSchema,
  shortNames: atomicListSchema(textSchema),
  categories: atomicListSchema(textSchema),
});

export const customResourceDefinitionSchema = kindSchema(
  'CustomResourceDefinition represents a resource that should be exposed on the API server.',
  {
    spec: structSchema({
      group: textSchema,
      scope: textSchema,
      names,
      preserveUnknownFields: flagSchema,
      conversion: structSchema({ strategy: textSchema, webhook: freeFormSchema }),
      versions: atomicListSchema(
        structSchema({
          name: textSchema,
          served: flagSchema,
          storage: flagSchema,
          deprecated: flagSchema,
          deprecationWarning: textSchema,
          schema: structSchema({ openAPIV3Schema: jsonSchema }),
          subresources: structSchema({
            status: structSchema({}),
            scale: structSchema({
              specReplicasPath: textSchema,
              statusReplicasPath: textSchema,
              labelSelectorPath: textSchema,
            }),
          }),
          additionalPrinterColumns: atomicListSchema(column),
          selectableFields: atomicListSchema(structSchema({ jsonPath: textSchema })),
        }),
      ),
    }),
    status: structSchema({
      conditions: conditionsSchema,
      acceptedNames: names,
      storedVersions: atomicListSchema(textSchema),
    }),
  },
);
