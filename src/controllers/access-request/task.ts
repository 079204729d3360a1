import type { AccessRequest } from '../../api/openmcp.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../services.ts';
import type { AccessIdentity } from './describe.ts';

/** One request that is being worked on, and all that is needed for it. */
export interface Task {
  readonly services: Services;
  readonly request: AccessRequest;
  readonly identity: AccessIdentity;
  readonly signal: AbortSignal;
  readonly log: Log;
}
