import type { Authenticator, User } from './authn.ts';
import type { Registry } from './registry.ts';
import type { RequestInfo } from './request.ts';
import type { Storage } from './store.ts';

/** The parts of one API server that handlers share. */
export interface Backend {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly auth: Authenticator;
  readonly gitVersion: string;
  /** Monotonic milliseconds from which on it knows who may do what. */
  readonly authorizesFrom: number;
  readonly url: () => string;
}

/** Everything a handler may know about one request. */
export interface Context extends Backend {
  readonly info: RequestInfo;
  readonly user: User;
  readonly userAgent: string;
  /** Sentences for `Warning` headers. */
  readonly warnings: string[];
}

/** The name that field ownership is kept under: the parameter, else the program of the User-Agent. */
export const managerOf = (context: Context): string =>
  context.info.query.get('fieldManager') || (context.userAgent.split('/')[0] ?? '').slice(0, 128) || 'unknown';

export const isDryRun = (context: Context): boolean => context.info.query.getAll('dryRun').includes('All');
