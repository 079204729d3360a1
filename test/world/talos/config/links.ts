import type { SimulatedConfigDocument } from './decode-config.ts';
import { type Fields, fieldAt, listAt, textAt, textsAt } from './fields.ts';

/** Addresses of one network interface, and its selector. */
export interface InterfaceView {
  /** Lower-case MAC, kernel name, or neither for "the first". */
  readonly mac?: string;
  readonly name?: string;
  readonly addresses: readonly string[];
  readonly dhcp: boolean;
  readonly vlans?: readonly VlanView[];
}

/** A VLAN on an interface. */
export interface VlanView {
  readonly id: number;
  readonly addresses: readonly string[];
  readonly mtu?: number;
}

export interface SharedAddressView {
  readonly vip: string | undefined;
  /** The VLAN of the address, if it is not on the interface itself. */
  readonly vipVlan: number | undefined;
}

/** All interfaces that a configuration names. */
export function interfacesOf(legacy: Fields, documents: readonly SimulatedConfigDocument[]): InterfaceView[] {
  const old = listAt(legacy, 'machine.network.interfaces').map((item): InterfaceView => {
    const mac = textAt(item, 'deviceSelector.hardwareAddr') || textAt(item, 'deviceSelector.permanentAddr');
    const name = textAt(item, 'interface');
    const vlans = vlansOf(item);
    return {
      ...(mac ? { mac: mac.toLowerCase() } : {}),
      ...(name ? { name } : {}),
      addresses: hasDefaultRoute(item) ? textsAt(item, 'addresses') : [],
      dhcp: fieldAt(item, 'dhcp') === true,
      ...(vlans.length > 0 ? { vlans } : {}),
    };
  });
  const aliases = new Map(
    documents
      .filter((document) => document.kind === 'LinkAliasConfig')
      .map((document) => [
        document.name,
        /[0-9a-f]{2}(?::[0-9a-f]{2}){5}/.exec(textAt(document.body, 'selector.match'))?.[0],
      ]),
  );
  const modern = documents
    .filter((document) => document.kind === 'LinkConfig' || document.kind === 'DHCPv4Config')
    .map((document): InterfaceView => {
      const mac = aliases.get(document.name);
      return {
        ...(mac ? { mac } : { name: document.name }),
        addresses: listAt(document.body, 'addresses').map((item) => textAt(item, 'address')),
        dhcp: document.kind === 'DHCPv4Config',
      };
    });
  return [...old, ...modern];
}

/**
 * A selector that is not limited to physical links also matches the VLANs that it creates, and theirs in turn, without
 * end.
 */
function vlansOf(item: unknown): VlanView[] {
  const nests = fieldAt(item, 'deviceSelector') !== undefined && fieldAt(item, 'deviceSelector.physical') !== true;
  return (nests ? [] : listAt(item, 'vlans')).map((vlan) => {
    const mtu = Number(textAt(vlan, 'mtu'));
    return { id: Number(textAt(vlan, 'vlanId')), addresses: textsAt(vlan, 'addresses'), ...(mtu > 0 && { mtu }) };
  });
}

/**
 * With only addresses of prefix length 32, the kernel accepts a default route only with a route to its gateway. Without
 * it no answer leaves the machine.
 */
function hasDefaultRoute(item: unknown): boolean {
  const routes = listAt(item, 'routes').map((route) => [textAt(route, 'network'), textAt(route, 'gateway')]);
  const alone = textsAt(item, 'addresses')
    .filter((address) => !address.includes(':'))
    .every((one) => one.endsWith('/32'));
  const gateway = routes.find(([network]) => network === '0.0.0.0/0')?.[1];
  return !alone || gateway === undefined || routes.some(([network, via]) => network === `${gateway}/32` && !via);
}

/** The virtual IP of the control planes. */
export function sharedAddressOf(legacy: Fields, documents: readonly SimulatedConfigDocument[]): SharedAddressView {
  const old = listAt(legacy, 'machine.network.interfaces').flatMap((item) => [
    { vip: textAt(item, 'vip.ip'), vipVlan: undefined },
    ...listAt(item, 'vlans').map((vlan) => ({ vip: textAt(vlan, 'vip.ip'), vipVlan: Number(textAt(vlan, 'vlanId')) })),
  ]);
  const modern = documents
    .filter((document) => document.kind === 'Layer2VIPConfig')
    .map((document) => ({ vip: document.name, vipVlan: undefined }));
  return [...old, ...modern].find(({ vip }) => vip !== '') ?? { vip: undefined, vipVlan: undefined };
}
