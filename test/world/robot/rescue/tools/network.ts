import type { ServerNic } from '../../hardware.ts';
import { linkLocal, networkRange } from '../devices/address-format.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import type { RescueSystem } from '../rescue-system.ts';

/** An interface as `ip` tells it. */
interface Interface {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly isUp: boolean;
  readonly isLoopback: boolean;
  readonly addresses: readonly {
    readonly family: 'inet' | 'inet6';
    readonly local: string;
    readonly prefix: number;
    readonly broadcast?: string;
    readonly scope: string;
  }[];
}

function interfaces({ hardware, network }: RescueSystem): Interface[] {
  const loopback: Interface = {
    ...{ index: 1, name: 'lo', mac: '00:00:00:00:00:00', isUp: true, isLoopback: true },
    addresses: [
      { family: 'inet', local: '127.0.0.1', prefix: 8, scope: 'host' },
      { family: 'inet6', local: '::1', prefix: 128, scope: 'host' },
    ],
  };
  const cards = hardware.nics.map((nic: ServerNic, index): Interface => {
    const isUp = nic.speedMbps > 0;
    const { address, prefix } = network;
    const main = {
      family: 'inet',
      local: address,
      prefix,
      broadcast: networkRange(address, prefix).last,
      scope: 'global',
    } as const;
    const link = { family: 'inet6', local: linkLocal(nic.mac), prefix: 64, scope: 'link' } as const;
    const addresses = isUp ? [...(index === 0 ? [main] : []), link] : [];
    return { index: index + 2, name: nic.name, mac: nic.mac, isUp, isLoopback: false, addresses };
  });
  return [loopback, ...cards];
}

const flagsOf = ({ isUp, isLoopback }: Interface): string[] =>
  isLoopback
    ? ['LOOPBACK', 'UP', 'LOWER_UP']
    : isUp
      ? ['BROADCAST', 'MULTICAST', 'UP', 'LOWER_UP']
      : ['NO-CARRIER', 'BROADCAST', 'MULTICAST', 'UP'];

const stateOf = ({ isUp, isLoopback }: Interface): string => (isLoopback ? 'UNKNOWN' : isUp ? 'UP' : 'DOWN');

const linkJson = (one: Interface) => ({
  ifindex: one.index,
  ifname: one.name,
  flags: flagsOf(one),
  mtu: one.isLoopback ? 65536 : 1500,
  qdisc: one.isLoopback ? 'noqueue' : 'mq',
  operstate: stateOf(one),
  linkmode: 'DEFAULT',
  group: 'default',
  txqlen: 1000,
  link_type: one.isLoopback ? 'loopback' : 'ether',
  address: one.mac,
  broadcast: one.isLoopback ? '00:00:00:00:00:00' : 'ff:ff:ff:ff:ff:ff',
});

const addressJson = (one: Interface, family: string | undefined) => {
  const { linkmode: _, ...link } = linkJson(one);
  return {
    ...link,
    addr_info: one.addresses
      .filter((address) => family === undefined || address.family === family)
      .map(({ family: kind, local, prefix, broadcast, scope }) => ({
        family: kind,
        local,
        prefixlen: prefix,
        ...(broadcast ? { broadcast } : {}),
        scope,
        ...(kind === 'inet' ? { label: one.name } : {}),
        valid_life_time: 4294967295,
        preferred_life_time: 4294967295,
      })),
  };
};

function linkText(one: Interface, separator: string): string {
  const head = `${one.index}: ${one.name}: <${flagsOf(one).join(',')}> mtu ${one.isLoopback ? 65536 : 1500} qdisc ${one.isLoopback ? 'noqueue' : 'mq'} state ${stateOf(one)} mode DEFAULT group default qlen 1000`;
  return `${head}${separator}    link/${one.isLoopback ? 'loopback' : 'ether'} ${one.mac} brd ${one.isLoopback ? '00:00:00:00:00:00' : 'ff:ff:ff:ff:ff:ff'}\n`;
}

function addressText(one: Interface, isOneLine: boolean, family: string | undefined): string {
  const addresses = one.addresses.filter((address) => family === undefined || address.family === family);
  const line = ({ family: kind, local, prefix, broadcast, scope }: Interface['addresses'][number]): string =>
    `    ${kind} ${local}/${prefix}${broadcast ? ` brd ${broadcast}` : ''} scope ${scope}${kind === 'inet' ? ` ${one.name}` : ' '}`;
  if (isOneLine)
    return addresses
      .map((address) => `${one.index}: ${one.name}${line(address)}\\       valid_lft forever preferred_lft forever\n`)
      .join('');
  const head = linkText(one, '\n').replace(' mode DEFAULT', '');
  return (
    head + addresses.map((address) => `${line(address)}\n       valid_lft forever preferred_lft forever\n`).join('')
  );
}

interface Route {
  readonly dst: string;
  readonly gateway?: string;
  readonly dev: string;
  readonly protocol?: string;
  readonly scope?: string;
  readonly prefsrc?: string;
}

function routes({ hardware, network }: RescueSystem, family: string | undefined): Route[] {
  const dev = hardware.nics[0]?.name ?? 'eth0';
  if (family === 'inet6') return [{ dst: 'fe80::/64', dev, protocol: 'kernel' }];
  const { address, prefix, gateway } = network;
  return [
    { dst: 'default', gateway, dev },
    {
      dst: `${networkRange(address, prefix).first}/${prefix}`,
      dev,
      protocol: 'kernel',
      scope: 'link',
      prefsrc: address,
    },
  ];
}

const routeText = ({ dst, gateway, dev, protocol, scope, prefsrc }: Route): string =>
  `${dst}${gateway ? ` via ${gateway}` : ''} dev ${dev}${protocol ? ` proto ${protocol}` : ''}${scope ? ` scope ${scope}` : ''}${prefsrc ? ` src ${prefsrc}` : ''} \n`;

/** `ip link`, `ip addr` and `ip route`, as text and as JSON. */
const ip: RescueProgram = async (process) => {
  const words = process.args.slice(1);
  const flags = new Set<string>();
  while (/^-/.test(words[0] ?? '')) flags.add((words.shift() ?? '').replace(/^-+/, ''));
  const [object = ''] = words.splice(0, 1);
  const isJson = flags.has('j') || flags.has('json');
  const isOneLine = flags.has('o') || flags.has('oneline');
  const family = flags.has('6') ? 'inet6' : flags.has('4') ? 'inet' : undefined;
  const print = async (json: readonly object[], text: string): Promise<number> => {
    await process.out(isJson ? `${JSON.stringify(json, undefined, flags.has('p') ? 4 : undefined)}\n` : text);
    return 0;
  };
  const rest = words.filter((word) => !/^(?:show|list|ls|dev|to)$/.test(word));
  if (/^r(?:o(?:u(?:t(?:e)?)?)?)?$/.test(object)) return await ipRoute(process, rest, family, print);
  const isLink = /^l(?:i(?:n(?:k)?)?)?$/.test(object);
  if (!isLink && !/^a(?:d(?:d(?:r(?:e(?:s(?:s)?)?)?)?)?)?$/.test(object)) {
    await process.error(`Object "${object}" is unknown, try "ip help".\n`);
    return 1;
  }
  const all = interfaces(process.system);
  const [name] = rest.filter((word) => word !== 'up');
  const chosen = name === undefined ? all : all.filter((one) => one.name === name);
  if (name !== undefined && chosen.length === 0) {
    await process.error(`Device "${name}" does not exist.\n`);
    return 1;
  }
  const texts = chosen.map((one) =>
    isLink ? linkText(one, isOneLine ? '\\' : '\n') : addressText(one, isOneLine, family),
  );
  return await print(
    chosen.map((one) => (isLink ? linkJson(one) : addressJson(one, family))),
    texts.join(''),
  );
};

async function ipRoute(
  process: RescueProcess,
  words: readonly string[],
  family: string | undefined,
  print: (json: readonly object[], text: string) => Promise<number>,
): Promise<number> {
  const all = routes(process.system, family);
  const [first = ''] = words;
  if (first === 'get') {
    const { network, hardware } = process.system;
    const dev = hardware.nics[0]?.name ?? 'eth0';
    const [, target = ''] = words;
    return await print(
      [{ dst: target, gateway: network.gateway, dev, prefsrc: network.address, flags: [], uid: 0, cache: [] }],
      `${target} via ${network.gateway} dev ${dev} src ${network.address} uid 0 \n    cache \n`,
    );
  }
  const chosen = first === 'default' ? all.filter(({ dst }) => dst === 'default') : all;
  return await print(
    chosen.map((route) => ({ ...route, flags: [] })),
    chosen.map(routeText).join(''),
  );
}

/** `ethtool`: speed and cable of a card. */
const ethtool: RescueProgram = async (process) => {
  const [first = '', second] = process.args.slice(1);
  const name = first.startsWith('-') ? (second ?? '') : first;
  const nic = process.system.hardware.nics.find((one) => one.name === name);
  if (!nic) {
    await process.error(`netlink error: no device matches name (offset 24)\nnetlink error: No such device\n`);
    return 75;
  }
  if (first === '-P') await process.out(`Permanent address: ${nic.mac}\n`);
  else if (first === '-i') await process.out('driver: igb\nversion: 6.12.19\nbus-info: 0000:01:00.0\n');
  else {
    const isUp = nic.speedMbps > 0;
    await process.out(
      `Settings for ${name}:\n\tSupported ports: [ TP ]\n\tSpeed: ${isUp ? `${nic.speedMbps}Mb/s` : 'Unknown!'}\n\tDuplex: ${isUp ? 'Full' : 'Unknown! (255)'}\n\tAuto-negotiation: on\n\tPort: Twisted Pair\n\tLink detected: ${isUp ? 'yes' : 'no'}\n`,
    );
  }
  return 0;
};

export const networkTools: Readonly<Record<string, RescueProgram>> = { ip, ethtool };
