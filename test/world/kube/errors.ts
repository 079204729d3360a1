import { canonicalJson, isObject } from './json.ts';

export interface StatusCause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

/** A `Status` object of meta/v1 in an answer of the API server. */
export interface StatusObject {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, unknown>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly StatusCause[];
    readonly retryAfterSeconds?: number;
  };
  readonly code?: number;
}

/** An API error. Thrown anywhere below the request pipeline, answered as its `Status`. */
export class ApiError extends Error {
  readonly status: StatusObject;

  constructor(code: number, reason: string, message: string, details?: StatusObject['details']) {
    super(message);
    this.name = 'ApiError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason ? { reason } : {}),
      ...(details ? { details } : {}),
      code,
    };
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** The part of a resource that error messages name. */
export interface ResourceNames {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const qualifiedName = (type: { group: string; plural: string }): string =>
  type.group ? `${type.plural}.${type.group}` : type.plural;

const detailsOf = (type: ResourceNames, name: string) => ({
  ...(name ? { name } : {}),
  ...(type.group ? { group: type.group } : {}),
  kind: type.plural,
});

export const notFoundError = (type: ResourceNames, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${qualifiedName(type)} "${name}" not found`, detailsOf(type, name));

export const alreadyExistsError = (type: ResourceNames, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${qualifiedName(type)} "${name}" already exists`, detailsOf(type, name));

export const conflictError = (type: ResourceNames, name: string, message: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(type)} "${name}": ${message}`,
    detailsOf(type, name),
  );

export const staleVersionError = (type: ResourceNames, name: string): ApiError =>
  conflictError(
    type,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const forbiddenError = (
  type: ResourceNames,
  name: string,
  message: string,
  causes: readonly StatusCause[] = [],
): ApiError =>
  new ApiError(403, 'Forbidden', `${qualifiedName(type)}${name ? ` "${name}"` : ''} is forbidden: ${message}`, {
    ...detailsOf(type, name),
    ...(causes.length > 0 ? { causes } : {}),
  });

export const badRequestError = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const unauthorizedError = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const internalError = (message: string): ApiError =>
  new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

/** The answer to an unknown path below a known group and version. */
export const noSuchResourceError = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const methodNotAllowedError = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unsupportedMediaTypeError = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const notAcceptableError = (accepted: readonly string[]): ApiError =>
  new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);

/** 410 for a list or a watch whose version the server no longer has. */
export const expiredError = (message: string): ApiError => new ApiError(410, 'Expired', message);

/** One refused field. `text` follows the field's path in the message. */
export interface FieldError {
  readonly field: string;
  readonly reason: string;
  readonly text: string;
}

const quoted = (value: unknown): string => {
  if (value === undefined || value === null) return 'null';
  return isObject(value) || Array.isArray(value) ? canonicalJson(value) : JSON.stringify(value);
};
const detail = (text: string): string => (text ? `: ${text}` : '');

const fieldError = (field: string, reason: string, text: string): FieldError => ({ field, reason, text });

/** Constructors of field errors; the words are those of `apimachinery: pkg/util/validation/field/errors.go`. */
export const fieldErrors = {
  required: (field: string, text = '') => fieldError(field, 'FieldValueRequired', `Required value${detail(text)}`),
  invalid: (field: string, value: unknown, text: string): FieldError =>
    fieldErrors.invalidText(field, quoted(value), text),
  /** For values with a form other than JSON in the message. */
  invalidText: (field: string, shown: string, text: string) =>
    fieldError(field, 'FieldValueInvalid', `Invalid value: ${shown}${detail(text)}`),
  /** For objects and lists, whose value the message of a rule omits. */
  invalidWithoutValue: (field: string, text: string) =>
    fieldError(field, 'FieldValueInvalid', `Invalid value${detail(text)}`),
  typeInvalid: (field: string, value: unknown, text: string) =>
    fieldError(field, 'FieldValueTypeInvalid', `Invalid value: ${quoted(value)}${detail(text)}`),
  duplicate: (field: string, value: unknown) =>
    fieldError(field, 'FieldValueDuplicate', `Duplicate value: ${quoted(value)}`),
  duplicateWithoutValue: (field: string) => fieldError(field, 'FieldValueDuplicate', 'Duplicate value'),
  forbidden: (field: string, text: string) => fieldError(field, 'FieldValueForbidden', `Forbidden${detail(text)}`),
  unsupported: (field: string, value: unknown, supported: readonly string[]) => {
    const values = supported.map((one) => JSON.stringify(one)).join(', ');
    return fieldError(
      field,
      'FieldValueNotSupported',
      `Unsupported value: ${quoted(value)}: supported values: ${values}`,
    );
  },
  tooLong: (field: string, max: number) =>
    fieldError(field, 'FieldValueTooLong', `Too long: may not be more than ${max} bytes`),
  tooMany: (field: string, actual: number, max: number) => {
    const items = max === 1 ? 'item' : 'items';
    return fieldError(field, 'FieldValueTooMany', `Too many: ${actual}: must have at most ${max} ${items}`);
  },
  notFound: (field: string, value: unknown) => fieldError(field, 'FieldValueNotFound', `Not found: ${quoted(value)}`),
};

/** 422. Only creates the error; the caller throws it when `errors` is not empty. */
export function invalidError(type: ResourceNames, name: string, errors: readonly FieldError[]): ApiError {
  const sentences = [...new Set(errors.map((error) => `${error.field || '<nil>'}: ${error.text}`))];
  const text = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  return new ApiError(
    422,
    'Invalid',
    `${type.group ? `${type.kind}.${type.group}` : type.kind} "${name}" is invalid: ${text}`,
    {
      ...(name ? { name } : {}),
      ...(type.group ? { group: type.group } : {}),
      kind: type.kind,
      causes: errors.map((error) => ({
        reason: error.reason,
        message: error.text,
        field: error.field || '<nil>',
      })),
    },
  );
}

/** Throws {@link invalidError} when `errors` is not empty. */
export function throwIfFieldErrors(type: ResourceNames, name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidError(type, name, errors);
}
