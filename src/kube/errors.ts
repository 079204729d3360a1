/** One problem that the API server found, e.g. one field of an invalid object. */
export interface KubeErrorCause {
  readonly field?: string;
  readonly message: string;
  readonly reason?: string;
}

/** The object that the error concerns, according to the API server. */
export interface KubeErrorDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural resource name, e.g. `secrets`. */
  readonly kind?: string;
  readonly uid?: string;
}

/** The parts of a {@link KubeError}. */
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
 * The only error that a call to an API server throws. `status` is the HTTP status, or 0 without a response. `reason` is
 * the reason of the `Status` object (`NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Forbidden`, `Expired`, …), or
 * `Unreachable`, `DeadlineExceeded`, `BadAnswer`, `AnswerTooLong` without a valid response.
 */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly KubeErrorCause[];
  readonly details: KubeErrorDetails;
  /** The delay that the API server requests before the next attempt. */
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

/** 404 for the object, its namespace or its whole kind. */
export const isNotFound = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 404);

/**
 * A response that does not change without a change of the request or the cluster. Conflicts and overload are transient.
 */
export const isRejection = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status >= 400 && e.status < 500 && e.status !== 409 && e.status !== 429);

/** 404 for a named object: its kind exists, the object does not. */
export const isObjectNotFound = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 404 && e.reason === 'NotFound' && Boolean(e.details.name));

/**
 * 409 because the object has changed, or because another manager owns an applied field. Read the object again before a
 * retry.
 */
export const isConflict = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 409 && e.reason === 'Conflict');

/** 409 because the name is taken. */
export const isAlreadyExists = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 409 && e.reason === 'AlreadyExists');

/** 403. */
export const isForbidden = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 403);

/** 401: the API server rejects the credentials. */
export const isUnauthorized = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 401);

/** 422: the object violates its schema; `causes` names the fields. */
export const isInvalid = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 422);

/** 410: the resource version or the continue token is too old. */
export const isGone = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 410);

/** The response exceeds the size limit, e.g. a page of large objects. */
export const isResponseTooLong = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.reason === 'AnswerTooLong');

/** No response: connection refused or reset, certificate not trusted, or deadline exceeded. */
export const isUnreachable = (error: unknown): boolean => matchesKubeError(error, (e) => e.status === 0);

/** True for errors that may pass without a change: no response, 429 and 5xx. */
export const isRetryable = (error: unknown): boolean =>
  matchesKubeError(error, (e) => e.status === 0 || e.status === 429 || e.status >= 500);

/**
 * True for errors that are not those of the caller: the object has changed, the API server did not answer, or it has just
 * started and denies everything until it has loaded its authorization rules. Otherwise 403 means that the installation
 * lacks permissions.
 */
export const isServerCondition = (error: unknown): boolean =>
  isRetryable(error) || isConflict(error) || isForbidden(error);
