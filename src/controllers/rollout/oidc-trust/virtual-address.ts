import { SecretString } from '../../../lib/secret-string.ts';
import { readMachineConfig } from '../../../talos/client/api-server-pod.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import { resourceKinds, type TalosResourceKind } from '../../../talos/client/resources.ts';
import { isSameConfig } from '../../../talos/config/edit/config-yaml.ts';
import { removeVip } from '../../../talos/config/edit/remove-vip.ts';
import type { ControlPlane } from './control-plane.ts';

/**
 * How a control plane stands to the address that the control planes hand around: it holds it and may do without it for a
 * while, by this configuration; it does so already; or neither.
 */
export type VirtualAddressState =
  | { readonly kind: 'held'; readonly without: SecretString }
  | { readonly kind: 'passed' }
  | { readonly kind: 'none' };

/** The addresses that a node has (`network.AddressStatus` of Talos). */
const addressStatusKind: TalosResourceKind = { namespace: 'network', type: 'AddressStatuses.net.talos.dev' };

/** Whether a node has the address right now. */
export async function hasAddress(node: TalosClient, address: string, plane: ControlPlane): Promise<boolean> {
  const found = await node.listResources(addressStatusKind, plane);
  return found.some(({ spec }) =>
    String((spec as { address?: unknown } | undefined)?.address).startsWith(`${address}/`),
  );
}

/**
 * The configuration that a control plane keeps. That is the one which it runs by, unless it only tries to do without the
 * shared address.
 */
export async function readPersistentConfig(
  node: TalosClient,
  plane: ControlPlane,
): Promise<{ readonly config: SecretString; readonly sharedAddress: VirtualAddressState }> {
  const active = await readMachineConfig(node, plane);
  const address = plane.machine.spec.virtualAddress;
  if (address === undefined) return { config: active, sharedAddress: { kind: 'none' } };
  const without = removeVip(active, address);
  if (without) {
    const isHolder = await hasAddress(node, address, plane);
    return { config: active, sharedAddress: isHolder ? { kind: 'held', without } : { kind: 'none' } };
  }
  const kept = (await node.findResource(resourceKinds.machineConfig, 'persistent', plane))?.spec;
  const config = typeof kept === 'string' ? new SecretString(kept) : active;
  const tried = removeVip(config, address);
  if (!tried || !isSameConfig(tried, active)) return { config: active, sharedAddress: { kind: 'none' } };
  return { config, sharedAddress: { kind: 'passed' } };
}
