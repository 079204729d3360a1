import type { Resource } from './builtin/resources.ts';
import { hasRules, ruleErrors } from './cel/rules.ts';
import { type FieldError, fieldError } from './errors.ts';
import { validate, validateListTypes } from './schema/validate.ts';
import type { ApiObject } from './store.ts';

/** What a custom resource's schema and rules say against an object. */
export function customErrors(
  resource: Resource,
  object: ApiObject,
  old: ApiObject | undefined,
  subresource: string,
): FieldError[] {
  const { schema } = resource;
  const errors = subresource === 'status' ? statusErrors(resource, object, old) : validate(schema, object, old);
  const wasUnique = !old || validateListTypes(schema, old).length === 0;
  if (wasUnique) errors.push(...validateListTypes(schema, object));
  if (errors.some(isBlocking)) return [...errors, ...(hasRules(schema) ? [unchecked] : [])];
  return [...errors, ...ruleErrors(schema, object, old)];
}

/** A write of the status is held against the status part of the schema alone, which names paths from there. */
function statusErrors({ schema }: Resource, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const part = schema.properties?.['status'];
  if (!part || object['status'] === undefined) return [];
  return validate(part, object['status'], old?.['status'], '').map((error) => ({
    ...error,
    field: error.field ? `status.${error.field}` : 'status',
  }));
}

/** Faults after which the rules would not find what they expect. */
const isBlocking = ({ reason }: FieldError): boolean =>
  [
    'FieldValueRequired',
    'FieldValueTooLong',
    'FieldValueTooMany',
    'FieldValueTypeInvalid',
    'FieldValueNotSupported',
  ].includes(reason);

const unchecked = fieldError.invalid(
  '',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);
