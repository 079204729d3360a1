import type { NetworkSpec } from '../api/provider-config-spec.ts';
import type { Addresses } from '../engine/addresses.ts';

type Given = Awaited<ReturnType<Addresses['claim']>>;

/** An address of the pool, with what a ProviderConfig says of how a node comes by it and finds its way from there. */
export const givenAddress = (address: string, network: NetworkSpec, prefix: number): Given => ({
  address,
  prefix,
  ...(network.gateway === undefined ? {} : { gateway: network.gateway }),
  ...(network.addressAssignment === 'DHCP' ? { assignment: network.addressAssignment } : {}),
});
