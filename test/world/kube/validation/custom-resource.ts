import type { ApiResource } from '../builtin/resources.ts';
import { evaluateRules, hasRules } from '../cel/evaluate-rules.ts';
import { type FieldError, fieldErrors } from '../errors.ts';
import { validateListTypes, validateValue } from '../schema/validate-value.ts';
import type { ApiObject } from '../storage/store.ts';

/** The errors of an object by the schema and rules of its custom resource. */
export function customResourceErrors(
  resource: ApiResource,
  object: ApiObject,
  old: ApiObject | undefined,
  subresource: string,
): FieldError[] {
  const { schema } = resource;
  const errors = subresource === 'status' ? statusErrors(resource, object, old) : validateValue(schema, object, old);
  const wasUnique = !old || validateListTypes(schema, old).length === 0;
  if (wasUnique) errors.push(...validateListTypes(schema, object));
  if (errors.some(isBlocking)) return [...errors, ...(hasRules(schema) ? [rulesNotCheckedError] : [])];
  return [...errors, ...evaluateRules(schema, object, old)];
}

/** A write of the status is validated against the status part of the schema alone, and its error paths start there. */
function statusErrors({ schema }: ApiResource, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const part = schema.properties?.['status'];
  if (!part || object['status'] === undefined) return [];
  return validateValue(part, object['status'], old?.['status'], '').map((error) => ({
    ...error,
    field: error.field ? `status.${error.field}` : 'status',
  }));
}

/** Errors after which the rules are not evaluated. */
const isBlocking = ({ reason }: FieldError): boolean =>
  [
    'FieldValueRequired',
    'FieldValueTooLong',
    'FieldValueTooMany',
    'FieldValueTypeInvalid',
    'FieldValueNotSupported',
  ].includes(reason);

const rulesNotCheckedError = fieldErrors.invalid(
  '',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);
