import { asObject, canonicalJson, isObject, type JsonObject } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { FieldSet } from './field-set.ts';
import { compareTyped, fieldSetOf } from './typed-values.ts';

/**
 * The migration from kubectl's client-side apply to server-side apply (`apimachinery: pkg/util/managedfields/internal`,
 * lastapplied*.go): the server recognises kubectl by its manager's name and updates its annotation.
 */
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const kubectl = 'kubectl';

const annotationsOf = (object: JsonObject): JsonObject => asObject(asObject(object['metadata'])['annotations']);

/** The merged object. An existing annotation is set to kubectl's new configuration. */
export function updateLastApplied(manager: string, merged: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(merged);
  if (manager !== kubectl || annotations[annotation] === undefined) return merged;
  const said = `${canonicalJson(config)}\n`;
  return {
    ...merged,
    metadata: { ...asObject(merged['metadata']), annotations: { ...annotations, [annotation]: said } },
  };
}

/** Fields that kubectl may take over: those of its last client-side apply without a later change. */
export function fieldsTakenOverFromClientSideApply(manager: string, schema: ObjectSchema, live: JsonObject): FieldSet {
  const said = annotationsOf(live)[annotation];
  const last = manager === kubectl && typeof said === 'string' ? readConfig(said) : undefined;
  if (!last) return new FieldSet();
  const { modified, removed } = compareTyped(schema, last, live);
  return fieldSetOf(schema, last).difference(modified.union(removed));
}

function readConfig(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    // The annotation may contain any text.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
