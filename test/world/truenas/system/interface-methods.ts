import { instanceNotFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { booleanModel, defaultedField, listModel, objectModel, textModel } from '../middleware/parameter-model.ts';
import {
  applyQuery,
  type Entry,
  instanceParameters,
  type QueryOptions,
  queryParameters,
  textId,
} from '../middleware/query.ts';
import type { NasInterface, NasState } from '../nas-state.ts';

const read = ['NETWORK_INTERFACE_READ'];
const choiceOptions = objectModel({
  bridge_members: defaultedField(booleanModel, false),
  lag_ports: defaultedField(booleanModel, false),
  vlan_parent: defaultedField(booleanModel, true),
  exclude: defaultedField(listModel(textModel()), []),
  exclude_types: defaultedField(listModel(textModel()), []),
  include: defaultedField(listModel(textModel()), []),
});

/** `interface.*`, read-only. */
export const interfaceMethods: readonly ApiMethod[] = [
  {
    name: 'interface.query',
    parameters: queryParameters,
    access: read,
    run: ([filters, options], { nas }) => applyQuery(describeLinks(nas), filters, options as QueryOptions),
  },
  {
    name: 'interface.get_instance',
    parameters: instanceParameters(textId),
    access: read,
    run: ([id], { nas }) => {
      const found = describeLinks(nas).find((link) => link['id'] === id);
      if (!found) throw instanceNotFound('Interface', id);
      return found;
    },
  },
  {
    name: 'interface.choices',
    parameters: [{ name: 'options', field: defaultedField(choiceOptions, {}) }],
    access: read,
    run: (_, { nas }) =>
      Object.fromEntries(
        [...nas.links.values()].map(({ name, description }) => [name, description ? `${name}: ${description}` : name]),
      ),
  },
];

const describeLinks = (nas: NasState): Entry[] =>
  [...nas.links.values()].map((link, index) => describeLink(link, index));

function describeLink(link: NasInterface, index: number): Entry {
  const mac = `02:00:00:00:00:${(index + 1).toString(16).padStart(2, '0')}`;
  const [address, netmask = '24'] = link.address?.split('/') ?? [];
  const aliases = address ? [{ type: 'INET', address, netmask: Number(netmask) }] : [];
  const flags = [...(link.up ? ['UP', 'RUNNING'] : []), 'BROADCAST', 'MULTICAST'];
  return {
    id: link.name,
    name: link.name,
    fake: false,
    type: link.type,
    state: {
      name: link.name,
      orig_name: link.name,
      description: link.description,
      mtu: link.mtu,
      cloned: link.type !== 'PHYSICAL',
      flags,
      nd6_flags: [],
      capabilities: [],
      link_state: link.up ? 'LINK_STATE_UP' : 'LINK_STATE_DOWN',
      media_type: '',
      media_subtype: '',
      active_media_type: '',
      active_media_subtype: '',
      supported_media: [],
      media_options: null,
      link_address: mac,
      permanent_link_address: link.type === 'PHYSICAL' ? mac : null,
      hardware_link_address: mac,
      rx_queues: 1,
      tx_queues: 1,
      aliases: [{ type: 'LINK', address: mac }, ...aliases],
      vrrp_config: [],
      ports: [],
      xmit_hash_policy: null,
      lacpdu_rate: null,
    },
    aliases,
    ipv4_dhcp: false,
    ipv6_auto: false,
    description: link.description,
    mtu: null,
    vrrp: null,
    bridge_members: link.type === 'BRIDGE' ? [...link.members] : [],
    lag_ports: link.type === 'LINK_AGGREGATION' ? [...link.members] : [],
    ...(link.type === 'BRIDGE' ? { enable_learning: true, stp: true } : {}),
    ...(link.type === 'LINK_AGGREGATION' ? { lag_protocol: 'LACP' } : {}),
    ...(link.type === 'VLAN' ? { vlan_parent_interface: link.members[0] ?? '', vlan_tag: 100, vlan_pcp: null } : {}),
  };
}
