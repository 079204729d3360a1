import { Secret } from '../../lib/secret.ts';
import type { TalosClient } from '../../talos/api.ts';
import { readMachineConfig } from '../../talos/api-server.ts';
import { sameConfig } from '../../talos/config/edit.ts';
import { withoutSharedAddress } from '../../talos/config/without-shared-address.ts';
import { type ResourceKind, resourceKinds } from '../../talos/resources.ts';
import type { ControlPlane } from './control-plane.ts';

/**
 * How a control plane stands to the address that the control planes hand around: it holds it and may do without it for a
 * while, by this configuration; it does so already; or neither.
 */
export type SharedAddress =
  | { readonly kind: 'held'; readonly without: Secret }
  | { readonly kind: 'passed' }
  | { readonly kind: 'none' };

/** The addresses that a node has (`network.AddressStatus` of Talos). */
const addresses: ResourceKind = { namespace: 'network', type: 'AddressStatuses.net.talos.dev' };

/** Whether a node has the address right now. */
export async function holdsAddress(node: TalosClient, address: string, plane: ControlPlane): Promise<boolean> {
  const found = await node.listResources(addresses, plane);
  return found.some(({ spec }) =>
    String((spec as { address?: unknown } | undefined)?.address).startsWith(`${address}/`),
  );
}

/**
 * The configuration that a control plane keeps. That is the one which it runs by, unless it only tries to do without the
 * shared address.
 */
export async function readKeptConfig(
  node: TalosClient,
  plane: ControlPlane,
): Promise<{ readonly config: Secret; readonly sharedAddress: SharedAddress }> {
  const active = await readMachineConfig(node, plane);
  const address = plane.machine.spec.virtualAddress;
  if (address === undefined) return { config: active, sharedAddress: { kind: 'none' } };
  const without = withoutSharedAddress(active, address);
  if (without) {
    const isHolder = await holdsAddress(node, address, plane);
    return { config: active, sharedAddress: isHolder ? { kind: 'held', without } : { kind: 'none' } };
  }
  const kept = (await node.findResource(resourceKinds.machineConfig, 'persistent', plane))?.spec;
  const config = typeof kept === 'string' ? new Secret(kept) : active;
  const tried = withoutSharedAddress(config, address);
  if (!tried || !sameConfig(tried, active)) return { config: active, sharedAddress: { kind: 'none' } };
  return { config, sharedAddress: { kind: 'passed' } };
}
