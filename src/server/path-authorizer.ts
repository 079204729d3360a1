import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { withDeadline } from '../lib/deadline.ts';
import type { Log } from '../lib/log.ts';
import { LruMap } from '../lib/lru-map.ts';
import { type PathRequest, type ReviewClient, reviewPathAccess, reviewToken } from './access-reviews.ts';

/** `unavailable`: the API server did not say; the question may be asked again. */
export type AuthorizationResult = 'allowed' | 'unauthenticated' | 'forbidden' | 'unavailable';

/** How long a verdict is kept: so long a right that was taken away still holds. */
const allowedCacheSeconds = 60;
/** A right that was just given is seen after so long. */
const rejectedCacheSeconds = 10;
/** Scrapers are few. Beyond that the verdict unused for longest goes, so that invented tokens fill no memory. */
const maxCachedResults = 256;
/** Reviews under way at a time. Beyond that nothing is asked, so that invented tokens load no API server. */
const maxConcurrentReviews = 8;
/** The API server takes no longer ones. */
const maxTokenLength = 8192;
const reviewTimeoutSeconds = 10;

export interface PathAuthorizerOptions {
  readonly client: ReviewClient;
  readonly clock: Clock;
  readonly log: Log;
}

interface CachedResult {
  readonly verdict: AuthorizationResult;
  /** Monotonic, in milliseconds. */
  readonly until: number;
}

/**
 * Who may read a path of ours: those whose bearer token the platform cluster knows (TokenReview) and lets get it
 * (SubjectAccessReview), as controller-runtime's `WithAuthenticationAndAuthorization` asks.
 */
export class PathAuthorizer {
  readonly #options: PathAuthorizerOptions;
  /** By a hash of token and request: the token itself is not kept. */
  readonly #verdicts = new LruMap<string, CachedResult>(maxCachedResults);
  readonly #reviews = new Map<string, Promise<AuthorizationResult>>();
  #isTroubled = false;

  constructor(options: PathAuthorizerOptions) {
    this.#options = options;
  }

  /** `authorization`: the header as it came. */
  async judge(authorization: string | undefined, request: PathRequest): Promise<AuthorizationResult> {
    const token = parseBearerToken(authorization);
    if (token === undefined) return 'unauthenticated';
    const key = createHash('sha256')
      .update(JSON.stringify([token, request.verb, request.path]))
      .digest('base64');
    const kept = this.#verdicts.get(key);
    if (kept && this.#options.clock.monotonic() < kept.until) return kept.verdict;
    const underWay = this.#reviews.get(key);
    if (underWay !== undefined) return await underWay;
    if (this.#reviews.size >= maxConcurrentReviews) return 'unavailable';
    const review = this.#review(key, token, request);
    this.#reviews.set(key, review);
    try {
      return await review;
    } finally {
      this.#reviews.delete(key);
    }
  }

  async #review(key: string, token: string, request: PathRequest): Promise<AuthorizationResult> {
    const { client, log } = this.#options;
    try {
      const verdict = await withDeadline(
        reviewTimeoutSeconds,
        undefined,
        async (signal): Promise<AuthorizationResult> => {
          const user = await reviewToken(client, token, signal);
          if (!user) return 'unauthenticated';
          return (await reviewPathAccess(client, user, request, signal)) ? 'allowed' : 'forbidden';
        },
      );
      this.#keep(key, verdict);
      if (this.#isTroubled) log.info({}, 'it can be found out again who may read metrics');
      this.#isTroubled = false;
      return verdict;
    } catch (error) {
      // Once for each time of trouble: scrapers come again and again.
      if (!this.#isTroubled) log.warn({ error }, 'it cannot be found out who may read metrics');
      this.#isTroubled = true;
      return 'unavailable';
    }
  }

  #keep(key: string, verdict: AuthorizationResult): void {
    const seconds = verdict === 'allowed' ? allowedCacheSeconds : rejectedCacheSeconds;
    this.#verdicts.set(key, { verdict, until: this.#options.clock.monotonic() + seconds * 1000 });
  }
}

function parseBearerToken(authorization = ''): string | undefined {
  const [scheme = '', token = '', ...rest] = authorization.split(' ');
  if (scheme.toLowerCase() !== 'bearer' || rest.length > 0) return undefined;
  return token.length > 0 && token.length <= maxTokenLength ? token : undefined;
}
