import type { RateLimit } from '../../lib/resilience/read-throttle.ts';

/** How much of the answers of one API server is read. What goes beyond is refused with the reason `AnswerTooLong`. */
export interface ResponseLimits {
  /** Of one answer, e.g. one page of a list. A page that is longer is asked for again with fewer objects. */
  readonly answerBytes: number;
  /** Of all pages of one list together. */
  readonly listBytes: number;
  readonly listPages: number;
  readonly listItems: number;
  /** For all pages of one list together. */
  readonly listSeconds: number;
  /** Of one event of a watch. */
  readonly eventBytes: number;
  /** What all watches together may bring: beyond it their connections are read later. */
  readonly watchBytes: RateLimit;
  readonly watchEvents: RateLimit;
}

const MiB = 2 ** 20;

/** An object in etcd has 1.5 MiB, and some more as JSON: each fits into an answer and into an event. */
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
 * For the API servers of clusters, which belong to their users. Of them we read what we made there, and a row for each
 * node of a watch.
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

/** Of a refusal: what explains it. */
export const maxErrorBodyBytes = MiB;
/** Of the answer to a call of one word, e.g. `/version`. */
export const maxShortResponseBytes = 64 * 1024;
/** Of the sentence of a refusal, as it is shown in conditions, Events and logs. */
export const maxErrorMessageLength = 2048;
/** Of the single things that a refusal found wrong. */
export const maxErrorCauses = 50;
/** As long as a server may ask us to wait. */
export const maxServerRetryAfterSeconds = 300;
