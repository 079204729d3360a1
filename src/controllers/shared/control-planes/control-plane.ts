import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { readMachineFact } from '../machine-facts.ts';
import type { Services } from '../services.ts';

/** A control plane of a cluster and its address; the address is empty while the Machine has none. */
export interface ControlPlane {
  readonly services: Pick<Services, 'targets'>;
  readonly cluster: ClusterIdentity;
  readonly machine: Machine;
  readonly address: string;
  readonly signal: AbortSignal;
}

export function controlPlaneOf(
  services: ControlPlane['services'],
  cluster: ClusterIdentity,
  machine: Machine,
  signal: AbortSignal,
): ControlPlane {
  const address = readMachineFact(machine, 'address') ?? '';
  return { services, cluster, machine, address, signal };
}
