import { randomInt } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { Ip, Server, Subnet, Traffic } from '../state.ts';
import { type Ask, type Endpoint, filled, ok, serversOf } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { type FormArray, text } from './form.ts';

const trafficOf = (traffic: Traffic) => ({
  traffic_warnings: traffic.warnings,
  traffic_hourly: traffic.hourly,
  traffic_daily: traffic.daily,
  traffic_monthly: traffic.monthly,
});

const describeIp = (server: Server, { ip, separateMac, traffic }: Ip) => ({
  ip,
  server_ip: server.address,
  server_number: server.number,
  locked: false,
  separate_mac: separateMac,
  ...trafficOf(traffic),
});

const detailsOfIp = (server: Server, ip: Ip) => ({
  ...describeIp(server, ip),
  gateway: server.gateway,
  mask: server.prefix,
  broadcast: broadcastOf(ip.ip, server.prefix),
});

const describeSubnet = (server: Server, subnet: Subnet) => ({
  ip: subnet.ip,
  mask: subnet.mask,
  gateway: subnet.gateway,
  server_ip: server.address,
  server_number: server.number,
  failover: subnet.failover,
  locked: false,
  ...trafficOf(subnet.traffic),
});

function broadcastOf(ip: string, prefix: number): string {
  const value = ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - prefix);
  const last = Math.floor(value / size) * size + size - 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(last / 2 ** shift) % 256).join('.');
}

/** All servers, or the one that `?server_ip=` names. */
function asked({ robot, account, query }: Ask): Server[] {
  const wanted = query.get('server_ip');
  return serversOf(robot, account).filter(({ address }) => wanted === null || address === wanted);
}

function ipIn({ robot, account, params }: Ask): { server: Server; ip: Ip } {
  for (const server of serversOf(robot, account)) {
    const ip = server.ips.find((one) => one.ip === params['ip']);
    if (ip) return { server, ip };
  }
  throw notFound('IP_NOT_FOUND', 'ip not found');
}

function subnetIn({ robot, account, params }: Ask): { server: Server; subnet: Subnet } {
  for (const server of serversOf(robot, account)) {
    const subnet = server.subnets.find((one) => one.ip === params['ip']);
    if (subnet) return { server, subnet };
  }
  throw notFound('SUBNET_NOT_FOUND', 'subnet not found');
}

function setTraffic(traffic: Traffic, form: FormArray): void {
  const warnings = text(form, 'traffic_warnings') ?? String(traffic.warnings);
  const number = (name: string, current: number): number => Number(text(form, name) ?? current);
  const next = {
    hourly: number('traffic_hourly', traffic.hourly),
    daily: number('traffic_daily', traffic.daily),
    monthly: number('traffic_monthly', traffic.monthly),
  };
  const invalid = Object.entries(next).flatMap(([name, value]) => (Number.isInteger(value) ? [] : [`traffic_${name}`]));
  if (warnings !== 'true' && warnings !== 'false') invalid.push('traffic_warnings');
  if (invalid.length > 0) throw invalidInput({ invalid });
  Object.assign(traffic, next, { warnings: warnings === 'true' });
}

/** The main address has the server's own card; only others can have one of their own. */
function additionalIp(ask: Ask): Ip {
  const { ip } = ipIn(ask);
  if (ip.isMain) throw notFound('MAC_NOT_AVAILABLE', 'there is no separate MAC for this address');
  return ip;
}

const describeMac = ({ ip, separateMac }: Ip) => ({ mac: { ip, mac: separateMac } });

const newMac = (): string =>
  ['00', '50', '56', ...Array.from({ length: 3 }, () => randomInt(256).toString(16).padStart(2, '0'))].join(':');

const ipEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/ip',
    group: 'ip',
    handle: (ask) =>
      ok(filled(asked(ask).flatMap((server) => server.ips.map((ip) => ({ ip: describeIp(server, ip) }))))),
  },
  {
    method: 'GET',
    path: '/ip/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, ip } = ipIn(ask);
      return ok({ ip: detailsOfIp(server, ip) });
    },
  },
  {
    method: 'POST',
    path: '/ip/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, ip } = ipIn(ask);
      setTraffic(ip.traffic, ask.form);
      return ok({ ip: detailsOfIp(server, ip) });
    },
  },
];

const macEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac === null) throw notFound('MAC_NOT_FOUND', 'there is no separate MAC');
      return ok(describeMac(ip));
    },
  },
  {
    method: 'PUT',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac !== null) throw conflict('MAC_ALREADY_SET', 'there is a separate MAC already');
      ip.separateMac = newMac();
      return ok(describeMac(ip));
    },
  },
  {
    method: 'DELETE',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac === null) throw conflict('MAC_NOT_FOUND', 'there is no separate MAC');
      ip.separateMac = null;
      return ok(describeMac(ip));
    },
  },
];

const subnetEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/subnet',
    group: 'ip',
    handle: (ask) =>
      ok(
        filled(
          asked(ask).flatMap((server) => server.subnets.map((subnet) => ({ subnet: describeSubnet(server, subnet) }))),
        ),
      ),
  },
  {
    method: 'GET',
    path: '/subnet/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, subnet } = subnetIn(ask);
      return ok({ subnet: describeSubnet(server, subnet) });
    },
  },
  {
    method: 'POST',
    path: '/subnet/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, subnet } = subnetIn(ask);
      setTraffic(subnet.traffic, ask.form);
      return ok({ subnet: describeSubnet(server, subnet) });
    },
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map(
    (method): Endpoint => ({
      method,
      path: '/subnet/{ip}/mac',
      group: 'mac',
      handle: (ask) => {
        subnetIn(ask);
        throw notFound('MAC_NOT_AVAILABLE', 'there is no separate MAC for this subnet');
      },
    }),
  ),
];

export const addressEndpoints: readonly Endpoint[] = [...ipEndpoints, ...macEndpoints, ...subnetEndpoints];

/** Every single address of an account that may have a name in reverse DNS. */
export const ownsAddress = (ask: Ask, ip: string): boolean =>
  serversOf(ask.robot, ask.account).some(
    (server) =>
      server.ips.some((one) => one.ip === ip) ||
      (!isIPv4(ip) && server.subnets.some((subnet) => ip.startsWith(subnet.ip.replace(/::$/, ':')))),
  );
