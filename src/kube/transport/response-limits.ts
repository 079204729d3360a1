import type { Rate } from '../../lib/resilience/rate-limit.ts';

/** Limits of the responses of one API server. A response beyond them is rejected with the reason `AnswerTooLong`. */
export interface ResponseLimits {
  /**
   * Size of one response, e.g. one page of a list. The client repeats the request for a longer page with fewer objects.
   */
  readonly answerBytes: number;
  /** Total size of all pages of one list. */
  readonly listBytes: number;
  readonly listPages: number;
  readonly listItems: number;
  /** Duration of all pages of one list. */
  readonly listSeconds: number;
  /** Size of one watch event. */
  readonly eventBytes: number;
  /** Rate of all watches together: beyond it the client reads their connections later. */
  readonly watchBytes: Rate;
  readonly watchEvents: Rate;
}

const MiB = 2 ** 20;

/** An object in etcd has up to 1.5 MiB, and somewhat more as JSON: each fits into a response and into an event. */
export const platformClusterLimits: ResponseLimits = {
  answerBytes: 64 * MiB,
  listBytes: 512 * MiB,
  listPages: 2000,
  listItems: 200_000,
  listSeconds: 120,
  eventBytes: 32 * MiB,
  watchBytes: { burst: 256 * MiB, perSecond: 32 * MiB },
  watchEvents: { burst: 50_000, perSecond: 5000 },
};

/**
 * For the API servers of target clusters, which belong to their users. The provider reads there only the objects that
 * it created, a table row per node, and when a node is drained its Pods and the attachments of volumes.
 */
export const targetClusterLimits: ResponseLimits = {
  answerBytes: 8 * MiB,
  listBytes: 32 * MiB,
  listPages: 200,
  listItems: 20_000,
  listSeconds: 60,
  eventBytes: 4 * MiB,
  watchBytes: { burst: 16 * MiB, perSecond: MiB },
  watchEvents: { burst: 5000, perSecond: 200 },
};

/** Size of the explanation that an error response carries. */
export const maxErrorBodyBytes = MiB;
/** Size of the response to a short call, e.g. `/version`. */
export const maxShortResponseBytes = 64 * 1024;
/** Length of an error message, as shown in conditions, Events and logs. */
export const maxErrorMessageLength = 2048;
/** Number of causes in an error response. */
export const maxErrorCauses = 50;
/** Longest retry delay that an API server can request. */
export const maxServerRetryAfterSeconds = 300;
