import type { Services } from '../shared/services.ts';
import { readTokenExpiry } from './access-secret.ts';

/** When the tokens expire that are granted to AccessRequests, from the cache. */
export const listTokenExpiries = ({ stores }: Pick<Services, 'stores'>): Date[] =>
  stores.accessSecrets.list().flatMap((secret) => readTokenExpiry(secret) ?? []);
