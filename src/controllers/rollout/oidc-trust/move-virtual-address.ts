import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { ControlPlane } from '../../shared/control-planes/control-plane.ts';
import { applyNodeConfig, type NodeFailure, queryNode } from '../../shared/control-planes/query-node.ts';
import { hasAddress, type VirtualAddressState } from '../../shared/control-planes/virtual-address.ts';

/** An election takes much less time. */
const moveTimeoutMs = 10_000;
const pollIntervalMs = 500;

/**
 * Moves the virtual address away from a control plane before its API server restarts. Talos leaves the address where it
 * is, whether the API server behind it answers or not (`network/operator/vip.go`). So its holder tries a configuration
 * without the address, which Talos always reverts after a minute. The change that follows ends the trial as well and
 * makes the node a candidate again. Returns an error only if the node did not accept the configuration.
 */
export async function moveVirtualAddress(
  services: { readonly clock: Clock; readonly log: Log },
  controlPlane: ControlPlane,
  sharedAddress: VirtualAddressState,
  others: readonly ControlPlane[],
): Promise<NodeFailure | undefined> {
  const { virtualAddress } = controlPlane.machine.spec;
  const { name } = controlPlane.machine.metadata;
  if (virtualAddress === undefined || sharedAddress.kind === 'none') return undefined;
  if (sharedAddress.kind === 'held' && others.length > 0) {
    const rejection = await applyNodeConfig(controlPlane, sharedAddress.without, 'try');
    if (rejection !== undefined) return rejection;
  }
  const successor = await awaitNewHolder(services.clock, others, virtualAddress);
  // No other control plane takes the address: a longer wait only extends the interruption.
  if (successor === undefined)
    services.log.warn({ machine: name }, 'the virtual address is unavailable while its holder restarts');
  else services.log.info({ machine: name, successor }, 'control plane has released the virtual address');
  return undefined;
}

async function awaitNewHolder(
  clock: Clock,
  others: readonly ControlPlane[],
  address: string,
): Promise<string | undefined> {
  const until = clock.monotonic() + moveTimeoutMs;
  while (others.length > 0 && clock.monotonic() < until) {
    for (const other of others) {
      const isHolder = await queryNode(other, (node) => hasAddress(node, address, other));
      if (isHolder === true) return other.machine.metadata.name;
    }
    await clock.sleep(pollIntervalMs, others[0]?.signal);
  }
  return undefined;
}
