import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Services } from '../../shared/services.ts';

/** A control plane of a cluster and its address. */
export interface ControlPlane {
  readonly services: Pick<Services, 'targets'>;
  readonly cluster: ClusterIdentity;
  readonly machine: Machine;
  readonly address: string;
  readonly signal: AbortSignal;
}
