/** One thing the API server found wrong, e.g. one field of an invalid object. */
export interface KubeErrorCause {
  readonly field?: string;
  readonly message: string;
  readonly reason?: string;
}

/** What the API server says the error is about. */
export interface KubeErrorDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural resource name, e.g. `secrets`. */
  readonly kind?: string;
  readonly uid?: string;
}

/** Everything a {@link KubeError} is made of. */
export interface KubeErrorOptions {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly causes?: readonly KubeErrorCause[] | undefined;
  readonly details?: KubeErrorDetails | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The one error that a call to an API server throws. `status` is the HTTP status, or 0 when no answer came; `reason` is
 * that of the `Status` object (`NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Forbidden`, `Expired`, …), or
 * `Unreachable`, `DeadlineExceeded`, `BadAnswer`, `AnswerTooLong` when there was no proper answer.
 */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly KubeErrorCause[];
  readonly details: KubeErrorDetails;
  /** How long the server asks us to wait before the next try. */
  readonly retryAfterSeconds: number | undefined;

  constructor(failure: KubeErrorOptions) {
    super(failure.message, failure.cause === undefined ? {} : { cause: failure.cause });
    this.name = 'KubeError';
    this.status = failure.status;
    this.reason = failure.reason;
    this.causes = failure.causes ?? [];
    this.details = failure.details ?? {};
    this.retryAfterSeconds = failure.retryAfterSeconds;
  }
}

const matchesKubeError = (error: unknown, test: (error: KubeError) => boolean): boolean =>
  error instanceof KubeError && test(error);

/** 404, whether of the object, its namespace or its whole kind. */
export const isNotFound = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 404);

/** An answer that stays the same until somebody changes something. Conflicts and overload pass by themselves. */
export const isRejection = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status >= 400 && e.status < 500 && e.status !== 409 && e.status !== 429);

/** 404 of a named object: its kind is served, it just is not there. */
export const isObjectNotFound = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 404 && e.reason === 'NotFound' && Boolean(e.details.name));

/** 409 because somebody else wrote first, or owns a field that we applied. Read again, decide again. */
export const isConflict = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 409 && e.reason === 'Conflict');

/** 409 because the name is taken. */
export const isAlreadyExists = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 409 && e.reason === 'AlreadyExists');

/** 403. */
export const isForbidden = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 403);

/** 401: the credentials themselves were refused. */
export const isUnauthorized = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 401);

/** 422: the object breaks a rule of its schema; `causes` names the fields. */
export const isInvalid = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 422);

/** 410: the resource version or the continue token is too old. */
export const isGone = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 410);

/** More than is read of any answer, e.g. of a page of large objects. */
export const isResponseTooLong = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.reason === 'AnswerTooLong');

/** No answer: refused, reset, not trusted, or too late. */
export const isUnreachable = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 0);

/** True for what time alone may cure: no answer, 429 and 5xx. */
export const isRetryable = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 0 || e.status === 429 || e.status >= 500);
