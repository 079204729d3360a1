import { type ApiMethod, plainMethod } from '../middleware/method.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import type { NasInterface, NasState } from '../nas-state.ts';

const read = ['NETWORK_INTERFACE_READ'];
/** `interface.*`, read-only. */
export const interfaceMethods: readonly ApiMethod[] = [
  plainMethod('interface.query', queryParameters, read, ([filters, options], { nas }) =>
    applyQuery(describeLinks(nas), filters, options as QueryOptions),
  ),
];

const describeLinks = (nas: NasState): Entry[] =>
  [...nas.links.values()].map((link, index) => describeLink(link, index));

function describeLink(link: NasInterface, index: number): Entry {
  const { name, type, description, mtu, up, members } = link;
  const mac = `02:00:00:00:00:${(index + 1).toString(16).padStart(2, '0')}`;
  const [address, netmask = '24'] = link.address?.split('/') ?? [];
  const aliases = address ? [{ type: 'INET', address, netmask: Number(netmask) }] : [];
  return {
    id: name,
    name,
    type,
    state: {
      name,
      mtu,
      flags: [...(up ? ['UP', 'RUNNING'] : []), 'BROADCAST', 'MULTICAST'],
      link_state: up ? 'LINK_STATE_UP' : 'LINK_STATE_DOWN',
      link_address: mac,
      aliases: [{ type: 'LINK', address: mac }, ...aliases],
    },
    aliases,
    description,
    mtu: null,
    bridge_members: type === 'BRIDGE' ? [...members] : [],
    lag_ports: type === 'LINK_AGGREGATION' ? [...members] : [],
    ...(type === 'VLAN' ? { vlan_parent_interface: members[0] ?? '', vlan_tag: 100, vlan_pcp: null } : {}),
  };
}
