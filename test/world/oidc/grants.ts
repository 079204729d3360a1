import { randomBytes } from 'node:crypto';
import type { OidcUser } from './seed.ts';

/** A user's login at a client. */
export interface LoginGrant {
  readonly person: OidcUser;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly nonce?: string | undefined;
  readonly at: Date;
}

/** The grant of an authorization code. */
export interface AuthorizationCode {
  readonly login: LoginGrant;
  readonly redirectUri: string;
  /** S256 of the client's code verifier. */
  readonly challenge: string | undefined;
}

/** The grant of a refresh token. */
interface RefreshGrant {
  readonly login: LoginGrant;
}

interface StoredGrant<T> {
  readonly content: T;
  readonly until: Date;
  isTaken: boolean;
}

const randomToken = (): string => randomBytes(24).toString('base64url');

/**
 * The issued grants, each valid once. A second use means theft: it revokes everything of the same login (RFC 6749,
 * 4.1.2; RFC 9700, 4.14.2).
 */
export class Grants {
  readonly #codes = new Map<string, StoredGrant<AuthorizationCode>>();
  readonly #refreshes = new Map<string, StoredGrant<RefreshGrant>>();
  readonly #ended = new Set<LoginGrant>();

  giveCode(content: AuthorizationCode, until: Date): string {
    return storeGrant(this.#codes, content, until);
  }

  takeCode(text: string, now: Date): AuthorizationCode | undefined {
    return this.#take(this.#codes, text, now);
  }

  giveRefresh(content: RefreshGrant, until: Date): string {
    return storeGrant(this.#refreshes, content, until);
  }

  takeRefresh(text: string, now: Date): RefreshGrant | undefined {
    return this.#take(this.#refreshes, text, now);
  }

  #take<T extends { readonly login: LoginGrant }>(
    from: Map<string, StoredGrant<T>>,
    text: string,
    now: Date,
  ): T | undefined {
    const kept = from.get(text);
    if (!kept || this.#ended.has(kept.content.login)) return undefined;
    if (kept.isTaken) {
      this.#ended.add(kept.content.login);
      return undefined;
    }
    kept.isTaken = true;
    return kept.until > now ? kept.content : undefined;
  }
}

function storeGrant<T>(to: Map<string, StoredGrant<T>>, content: T, until: Date): string {
  const text = randomToken();
  to.set(text, { content, until, isTaken: false });
  return text;
}
