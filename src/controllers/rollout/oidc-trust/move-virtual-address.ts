import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { applyNodeConfig, type ControlPlane, type NodeFailure, queryNode } from './control-plane.ts';
import { hasAddress, type VirtualAddressState } from './virtual-address.ts';

/** How long an election takes, with much to spare. */
const moveTimeoutMs = 10_000;
const pollIntervalMs = 500;

/**
 * Before the API server of a control plane restarts, the address that the control planes share is to be somewhere else: Talos
 * leaves it where it is, whether the API server behind it answers or not (`network/operator/vip.go`). So its holder tries a
 * configuration without it, which Talos takes back after a minute, come what may; the change that follows ends that as well
 * and makes the node a candidate again. Returns what went wrong when the node could not be told, and nothing else.
 */
export async function moveVirtualAddress(
  services: { readonly clock: Clock; readonly log: Log },
  plane: ControlPlane,
  sharedAddress: VirtualAddressState,
  others: readonly ControlPlane[],
): Promise<NodeFailure | undefined> {
  const { virtualAddress } = plane.machine.spec;
  const { name } = plane.machine.metadata;
  if (virtualAddress === undefined || sharedAddress.kind === 'none') return undefined;
  if (sharedAddress.kind === 'held' && others.length > 0) {
    const refusal = await applyNodeConfig(plane, sharedAddress.without, 'try');
    if (refusal !== undefined) return refusal;
  }
  const successor = await awaitNewHolder(services.clock, others, virtualAddress);
  // Nobody can or nobody will: to wait for longer would only make it longer.
  if (successor === undefined)
    services.log.warn({ machine: name }, 'the shared address is away while its holder restarts');
  else services.log.info({ machine: name, successor }, 'control plane has passed the shared address on');
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
