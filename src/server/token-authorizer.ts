import { createHash } from 'node:crypto';
import type { AccessAttributes } from '../kube/client/client-types.ts';
import type { Clock } from '../lib/clock.ts';
import { withDeadline } from '../lib/deadline.ts';
import type { Log } from '../lib/log.ts';
import { LruMap } from '../lib/lru-map.ts';
import { type ReviewClient, reviewToken, reviewUserAccess } from './access-reviews.ts';

/** `unavailable`: the API server did not answer; the request may be retried. */
export type AuthorizationResult = 'allowed' | 'unauthenticated' | 'forbidden' | 'unavailable';

/** Authorization and TLS of a server. */
export interface ServerProtection {
  readonly tls: { readonly cert: string; readonly key: string };
  readonly access: Pick<TokenAuthorizer, 'review'>;
}

const rejectionCodes = { unauthenticated: 401, forbidden: 403, unavailable: 503 } as const;

/** The status code and the headers of a rejected request; its body is up to the server. */
export const toHttpRejection = (verdict: Exclude<AuthorizationResult, 'allowed'>) => ({
  code: rejectionCodes[verdict],
  headers: verdict === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {},
});

/** How long an approval is cached: a revoked right stays effective for this long. */
const allowedCacheSeconds = 60;
/** A newly granted right takes effect after this time. */
const rejectedCacheSeconds = 10;
/**
 * Clients are few. Beyond this the least recently used result is evicted, so that invented tokens do not fill the
 * memory.
 */
const maxCachedResults = 256;
/** Concurrent reviews. Beyond this no review is made, so that invented tokens do not load the API server. */
const maxConcurrentReviews = 8;
/** The API server accepts no longer tokens. */
const maxTokenLength = 8192;
const reviewTimeoutSeconds = 10;

export interface TokenAuthorizerOptions {
  readonly client: ReviewClient;
  readonly clock: Clock;
  readonly log: Log;
  /** What is served, for the log, e.g. `metrics`. */
  readonly served: string;
}

interface CachedResult {
  readonly isAllowed: AuthorizationResult;
  /** Monotonic, in milliseconds. */
  readonly until: number;
}

/**
 * Authorizes requests to the provider's own servers: the platform cluster must know the bearer token (TokenReview) and
 * allow its user everything that is asked for (SubjectAccessReview), as in controller-runtime's
 * `WithAuthenticationAndAuthorization`.
 */
export class TokenAuthorizer {
  readonly #options: TokenAuthorizerOptions;
  /** By a hash of token and request: the token itself is not stored. */
  readonly #results = new LruMap<string, CachedResult>(maxCachedResults);
  readonly #reviews = new Map<string, Promise<AuthorizationResult>>();
  #isFailing = false;

  constructor(options: TokenAuthorizerOptions) {
    this.#options = options;
  }

  /** `authorization`: the header as received. `accesses`: all of them are needed. */
  async review(
    authorization: string | undefined,
    ...accesses: readonly [AccessAttributes, ...AccessAttributes[]]
  ): Promise<AuthorizationResult> {
    const token = parseBearerToken(authorization);
    if (token === undefined) return 'unauthenticated';
    const key = createHash('sha256')
      .update(JSON.stringify([token, accesses]))
      .digest('base64');
    const kept = this.#results.get(key);
    if (kept && this.#options.clock.monotonic() < kept.until) return kept.isAllowed;
    const underWay = this.#reviews.get(key);
    if (underWay !== undefined) return await underWay;
    if (this.#reviews.size >= maxConcurrentReviews) return 'unavailable';
    const review = this.#review(key, token, accesses);
    this.#reviews.set(key, review);
    try {
      return await review;
    } finally {
      this.#reviews.delete(key);
    }
  }

  async #review(key: string, token: string, accesses: readonly AccessAttributes[]): Promise<AuthorizationResult> {
    const { client, log, served } = this.#options;
    try {
      const verdict = await withDeadline(
        reviewTimeoutSeconds,
        undefined,
        async (signal): Promise<AuthorizationResult> => {
          const user = await reviewToken(client, token, signal);
          if (!user) return 'unauthenticated';
          for (const access of accesses)
            if (!(await reviewUserAccess(client, user, access, signal))) return 'forbidden';
          return 'allowed';
        },
      );
      this.#remember(key, verdict);
      if (this.#isFailing) log.info({ served }, 'authorization of requests works again');
      this.#isFailing = false;
      return verdict;
    } catch (error) {
      // Logged once per outage: clients retry again and again.
      if (!this.#isFailing) log.warn({ served, error }, 'authorization of requests failed');
      this.#isFailing = true;
      return 'unavailable';
    }
  }

  #remember(key: string, verdict: AuthorizationResult): void {
    const seconds = verdict === 'allowed' ? allowedCacheSeconds : rejectedCacheSeconds;
    this.#results.set(key, { isAllowed: verdict, until: this.#options.clock.monotonic() + seconds * 1000 });
  }
}

function parseBearerToken(authorization = ''): string | undefined {
  const [scheme = '', token = '', ...rest] = authorization.split(' ');
  if (scheme.toLowerCase() !== 'bearer' || rest.length > 0) return undefined;
  return token.length > 0 && token.length <= maxTokenLength ? token : undefined;
}
