import type { ApiUser, Authenticator } from '../auth/authentication.ts';
import type { RequestedApi } from '../discovery/metrics.ts';
import type { ResourceRegistry } from '../storage/resource-registry.ts';
import type { ObjectStorage } from '../storage/store.ts';
import type { RequestInfo } from './request-info.ts';

/** The parts of one API server that handlers share. */
export interface ApiBackend {
  readonly storage: ObjectStorage;
  readonly registry: ResourceRegistry;
  readonly auth: Authenticator;
  readonly gitVersion: string;
  /** The deprecated APIs that the metrics name. */
  readonly requestedApis: () => readonly RequestedApi[];
  /** Monotonic milliseconds from which on RBAC is loaded. */
  readonly authorizesFrom: number;
  readonly url: () => string;
}

/** The properties of one request for its handler. */
export interface RequestContext extends ApiBackend {
  readonly info: RequestInfo;
  readonly user: ApiUser;
  readonly userAgent: string;
  /** Sentences for `Warning` headers. */
  readonly warnings: string[];
}

/** The field manager: the parameter, else the program of the User-Agent. */
export const fieldManagerOf = (context: RequestContext): string =>
  context.info.query.get('fieldManager') || (context.userAgent.split('/')[0] ?? '').slice(0, 128) || 'unknown';

export const isDryRun = (context: RequestContext): boolean => context.info.query.getAll('dryRun').includes('All');
