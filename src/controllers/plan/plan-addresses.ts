import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { listIpAddresses, parseIpRange, toAuthority } from '../../lib/net/ip.ts';
import type { FixedEndpoint } from '../shared/addresses/fixed-endpoints.ts';
import { readMachineFact } from '../shared/machine-facts.ts';
import { needsVirtualAddress } from '../shared/spec/check-addresses.ts';
import type { ChosenPlatform } from '../shared/spec/choose-platform.ts';
import type { HostAssignment } from './assign-hosts.ts';

/** The address of each Machine of a cluster, claimed or predicted. */
export interface PlannedAddresses {
  /** Address of the API server; undefined if it is the address of a control plane that is not known yet. */
  readonly endpoint: string | undefined;
  readonly virtualAddress: string | undefined;
  /** By name of the Machine. */
  readonly machines: ReadonlyMap<string, string>;
}

interface AddressPlanInput extends Pick<ChosenPlatform, 'section'> {
  readonly spec: ProviderConfigSpec;
  readonly fixedEndpoint: FixedEndpoint | undefined;
  /** Addresses that must not be claimed. */
  readonly reserved: ReadonlySet<string>;
  /** The holder of an address. */
  holderOf(address: string): Promise<string | undefined>;
}

/** Each gets its lowest free address in turn, the endpoint first, in the same order as the real claims. */
export async function planAddresses(
  given: AddressPlanInput,
  assignments: readonly HostAssignment[],
): Promise<PlannedAddresses> {
  const { spec, section, fixedEndpoint } = given;
  const machines = assignments.flatMap(({ machine }) => machine ?? []);
  const known = new Map(
    machines.flatMap((machine) => {
      const address = readMachineFact(machine, 'address');
      return address === undefined ? [] : [[machine.metadata.name, address] as const];
    }),
  );
  const free = section.addressing.pool === 'main' ? freeAddresses(given) : undefined;
  const next = async (): Promise<string | undefined> => (await free?.next())?.value;
  const existing = machines.find((machine) => machine.spec.endpoint !== undefined)?.spec;
  const claims = existing === undefined && needsVirtualAddress(spec, section.addressing);
  const virtualAddress = claims ? await next() : existing?.virtualAddress;
  for (const { slot } of assignments) {
    const address = known.get(slot.name) ?? (await next());
    if (address !== undefined) known.set(slot.name, address);
  }
  const url = virtualAddress === undefined ? undefined : `https://${toAuthority(virtualAddress, 6443)}`;
  const endpoint = existing?.endpoint ?? (fixedEndpoint ? `https://${fixedEndpoint.at}` : url);
  return { endpoint, virtualAddress, machines: known };
}

async function* freeAddresses({ spec, reserved, holderOf }: AddressPlanInput): AsyncGenerator<string, undefined> {
  const ranges = (spec.network.addressPool ?? []).flatMap((text) => parseIpRange(text) ?? []);
  for (const address of listIpAddresses(ranges)) {
    if (!reserved.has(address) && (await holderOf(address)) === undefined) yield address;
  }
  return undefined;
}
