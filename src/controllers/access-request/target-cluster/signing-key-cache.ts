import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';
import type { SecretString } from '../../../lib/secret-string.ts';

/** Ids of the keys whose tokens a cluster accepts; undefined if the cluster does not publish them. */
export type SigningKeyIds = ReadonlySet<string> | undefined;

const cacheTtlSeconds = 60;

/** Caches the signing keys of a cluster for one minute. Each call has its own deadline. */
export class SigningKeyCache {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  #answer: { readonly keys: Promise<SigningKeyIds>; readonly until: number } | undefined;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async read(signal: AbortSignal): Promise<SigningKeyIds> {
    const now = this.#clock.monotonic();
    if (!this.#answer || this.#answer.until <= now) this.#ask(now);
    return await waitOrAbort(this.#answer?.keys ?? Promise.resolve(undefined), signal);
  }

  #ask(now: number): void {
    const answer = { keys: this.#client.signingKeys(), until: now + cacheTtlSeconds * 1000 };
    this.#answer = answer;
    // An error is not cached: the next call asks again.
    answer.keys.catch(() => {
      if (this.#answer === answer) this.#answer = undefined;
    });
  }
}

/** Id of the key that signs a token; undefined if the token does not contain it. */
export function signingKeyIdOf(token: SecretString): string | undefined {
  const [header = ''] = token.reveal().split('.');
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid?: unknown };
    return typeof kid === 'string' ? kid : undefined;
  } catch {
    return undefined;
  }
}
