import { SecretString } from '../../../lib/secret-string.ts';
import { readMachineConfig } from '../../../talos/client/api-server-pod.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import { resourceKinds, type TalosResourceKind } from '../../../talos/client/resources.ts';
import { isSameConfig } from '../../../talos/config/edit/config-yaml.ts';
import { removeVip } from '../../../talos/config/edit/remove-vip.ts';
import type { ControlPlane } from './control-plane.ts';

/**
 * Whether a control plane holds the virtual address. `held`: it does, and `without` is its configuration without the
 * address. `passed`: it tries a configuration without the address. `none`: neither.
 */
export type VirtualAddressState =
  | { readonly kind: 'held'; readonly without: SecretString }
  | { readonly kind: 'passed' }
  | { readonly kind: 'none' };

/** The addresses of a node (`network.AddressStatus` of Talos). */
const addressStatusKind: TalosResourceKind = { namespace: 'network', type: 'AddressStatuses.net.talos.dev' };

export async function hasAddress(node: TalosClient, address: string, controlPlane: ControlPlane): Promise<boolean> {
  const found = await node.listResources(addressStatusKind, controlPlane);
  return found.some(({ spec }) =>
    String((spec as { address?: unknown } | undefined)?.address).startsWith(`${address}/`),
  );
}

/**
 * The configuration that a control plane keeps: its active one, unless it only tries to run without the virtual
 * address.
 */
export async function readPersistentConfig(
  node: TalosClient,
  controlPlane: ControlPlane,
): Promise<{ readonly config: SecretString; readonly sharedAddress: VirtualAddressState }> {
  const active = await readMachineConfig(node, controlPlane);
  const address = controlPlane.machine.spec.virtualAddress;
  if (address === undefined) return { config: active, sharedAddress: { kind: 'none' } };
  const without = removeVip(active, address);
  if (without) {
    const isHolder = await hasAddress(node, address, controlPlane);
    return { config: active, sharedAddress: isHolder ? { kind: 'held', without } : { kind: 'none' } };
  }
  const kept = (await node.findResource(resourceKinds.machineConfig, 'persistent', controlPlane))?.spec;
  const config = typeof kept === 'string' ? new SecretString(kept) : active;
  const tried = removeVip(config, address);
  if (!tried || !isSameConfig(tried, active)) return { config: active, sharedAddress: { kind: 'none' } };
  return { config, sharedAddress: { kind: 'passed' } };
}
