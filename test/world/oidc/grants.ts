import { randomBytes } from 'node:crypto';
import type { Person } from './seed.ts';

/** Somebody has logged in at a client. */
export interface Login {
  readonly person: Person;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly nonce?: string | undefined;
  readonly at: Date;
}

/** What an authorization code stands for. */
export interface Code {
  readonly login: Login;
  readonly redirectUri: string;
  /** S256 of what the client keeps to itself. */
  readonly challenge: string | undefined;
}

/** What a refresh token stands for. */
interface Refresh {
  readonly login: Login;
}

/** A device on which somebody wants to log in. */
export interface Device {
  readonly client: string;
  readonly scopes: readonly string[];
  readonly userCode: string;
  readonly until: Date;
  login?: Login;
  askedAt?: Date;
}

interface Kept<T> {
  readonly content: T;
  readonly until: Date;
  isTaken: boolean;
}

const newText = (): string => randomBytes(24).toString('base64url');

/**
 * What the issuer has given out and takes back once. What comes twice was stolen: with it everything ends that came of the
 * same login (RFC 6749, 4.1.2; RFC 9700, 4.14.2).
 */
export class Grants {
  readonly #codes = new Map<string, Kept<Code>>();
  readonly #refreshes = new Map<string, Kept<Refresh>>();
  readonly #devices = new Map<string, Device>();
  readonly #ended = new Set<Login>();

  giveCode(content: Code, until: Date): string {
    return give(this.#codes, content, until);
  }

  takeCode(text: string, now: Date): Code | undefined {
    return this.#take(this.#codes, text, now);
  }

  giveRefresh(content: Refresh, until: Date): string {
    return give(this.#refreshes, content, until);
  }

  takeRefresh(text: string, now: Date): Refresh | undefined {
    return this.#take(this.#refreshes, text, now);
  }

  addDevice(asked: Omit<Device, 'userCode' | 'login' | 'askedAt'>): { device: Device; deviceCode: string } {
    const deviceCode = newText();
    const device = { ...asked, userCode: randomBytes(4).toString('hex').toUpperCase() };
    this.#devices.set(deviceCode, device);
    return { device, deviceCode };
  }

  findDevice(deviceCode: string): Device | undefined {
    return this.#devices.get(deviceCode);
  }

  findDeviceByUser(userCode: string): Device | undefined {
    return [...this.#devices.values()].find((device) => device.userCode === userCode);
  }

  dropDevice(deviceCode: string): void {
    this.#devices.delete(deviceCode);
  }

  #take<T extends { readonly login: Login }>(from: Map<string, Kept<T>>, text: string, now: Date): T | undefined {
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

function give<T>(to: Map<string, Kept<T>>, content: T, until: Date): string {
  const text = newText();
  to.set(text, { content, until, isTaken: false });
  return text;
}
