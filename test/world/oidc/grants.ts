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

/** A pending device login. */
export interface DeviceLogin {
  readonly client: string;
  readonly scopes: readonly string[];
  readonly userCode: string;
  readonly until: Date;
  login?: LoginGrant;
  askedAt?: Date;
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
  readonly #devices = new Map<string, DeviceLogin>();
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

  addDevice(asked: Omit<DeviceLogin, 'userCode' | 'login' | 'askedAt'>): { device: DeviceLogin; deviceCode: string } {
    const deviceCode = randomToken();
    const device = { ...asked, userCode: randomBytes(4).toString('hex').toUpperCase() };
    this.#devices.set(deviceCode, device);
    return { device, deviceCode };
  }

  findDevice(deviceCode: string): DeviceLogin | undefined {
    return this.#devices.get(deviceCode);
  }

  findDeviceByUser(userCode: string): DeviceLogin | undefined {
    return [...this.#devices.values()].find((device) => device.userCode === userCode);
  }

  dropDevice(deviceCode: string): void {
    this.#devices.delete(deviceCode);
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
