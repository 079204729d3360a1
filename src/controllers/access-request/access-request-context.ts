import type { AccessRequest } from '../../api/openmcp/types.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import type { AccessIdentity } from './target-cluster/desired-access.ts';

/** One request that is being worked on, and all that is needed for it. */
export interface AccessRequestContext {
  readonly services: Services;
  readonly request: AccessRequest;
  readonly identity: AccessIdentity;
  readonly signal: AbortSignal;
  readonly log: Log;
}
