import type { NetworkSpec } from '../../../api/provider-config-spec.ts';
import type { AddressClaim } from '../../../engine/address-claim.ts';

type AssignedAddress = Awaited<ReturnType<AddressClaim['claim']>>;

/** An address of the pool with its prefix and the gateway and assignment of the ProviderConfig. */
export const toAssignedAddress = (address: string, network: NetworkSpec, prefix: number): AssignedAddress => ({
  address,
  prefix,
  ...(network.gateway === undefined ? {} : { gateway: network.gateway }),
  ...(network.addressAssignment === 'DHCP' ? { assignment: network.addressAssignment } : {}),
});
