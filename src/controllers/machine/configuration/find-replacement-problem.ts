import type { Machine } from '../../../api/machine.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { toAuthority } from '../../../lib/net/ip.ts';

/** Fewer control planes have no quorum without one of them. */
const minControlPlanes = 3;

interface ReplacedMachine {
  readonly machine: Machine;
  readonly spec: ProviderConfigSpec;
  /** The address of the node. */
  readonly address: string;
  /** URL of the API server of the cluster. */
  readonly endpoint: string | undefined;
}

/** Why no other machine can take the place of this one, with the remedy; undefined if one can. */
export function findReplacementProblem({ machine, spec, address, endpoint }: ReplacedMachine): string | undefined {
  if (machine.spec.role !== 'controlplane') return undefined;
  const { replicas } = spec.controlPlane;
  if (replicas < minControlPlanes)
    return `The change needs another machine, and a cluster with ${replicas} control plane would lose etcd with this one. Take it back, or set controlPlane.replicas to ${minControlPlanes} before it.`;
  const isEndpoint = machine.spec.virtualAddress === undefined && endpoint === `https://${toAuthority(address, 6443)}`;
  return isEndpoint
    ? 'The change needs another machine, and the address of this one is the endpoint of the cluster. Take it back.'
    : undefined;
}
