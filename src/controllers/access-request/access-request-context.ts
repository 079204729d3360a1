import type { AccessRequest } from '../../api/openmcp/types.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import type { AccessIdentity } from './target-cluster/desired-access.ts';

/** Everything that the reconcile of one request uses. */
export interface AccessRequestContext {
  readonly services: Services;
  readonly request: AccessRequest;
  readonly identity: AccessIdentity;
  readonly signal: AbortSignal;
  readonly log: Log;
}
