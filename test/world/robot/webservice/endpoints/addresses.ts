import { randomInt } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { IpState, ServerState, SubnetState, TrafficWarnings } from '../../state.ts';
import { notFoundIfEmpty, okReply, type RobotEndpoint, serversOf, type WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { type FormArray, formText } from '../php-form.ts';

const trafficOf = (traffic: TrafficWarnings) => ({
  traffic_warnings: traffic.warnings,
  traffic_hourly: traffic.hourly,
  traffic_daily: traffic.daily,
  traffic_monthly: traffic.monthly,
});

const describeIp = (server: ServerState, { ip, separateMac, traffic }: IpState) => ({
  ip,
  server_ip: server.address,
  server_number: server.number,
  locked: false,
  separate_mac: separateMac,
  ...trafficOf(traffic),
});

const detailsOfIp = (server: ServerState, ip: IpState) => ({
  ...describeIp(server, ip),
  gateway: server.gateway,
  mask: server.prefix,
  broadcast: broadcastOf(ip.ip, server.prefix),
});

const describeSubnet = (server: ServerState, subnet: SubnetState) => ({
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

/** All servers, or the one of `?server_ip=`. */
function serversByQuery({ robot, account, query }: WebserviceRequest): ServerState[] {
  const wanted = query.get('server_ip');
  return serversOf(robot, account).filter(({ address }) => wanted === null || address === wanted);
}

function ipOfRequest({ robot, account, params }: WebserviceRequest): { server: ServerState; ip: IpState } {
  for (const server of serversOf(robot, account)) {
    const ip = server.ips.find((one) => one.ip === params['ip']);
    if (ip) return { server, ip };
  }
  throw notFoundRobotError('IP_NOT_FOUND', 'ip not found');
}

function subnetOfRequest({ robot, account, params }: WebserviceRequest): { server: ServerState; subnet: SubnetState } {
  for (const server of serversOf(robot, account)) {
    const subnet = server.subnets.find((one) => one.ip === params['ip']);
    if (subnet) return { server, subnet };
  }
  throw notFoundRobotError('SUBNET_NOT_FOUND', 'subnet not found');
}

function setTraffic(traffic: TrafficWarnings, form: FormArray): void {
  const warnings = formText(form, 'traffic_warnings') ?? String(traffic.warnings);
  const number = (name: string, current: number): number => Number(formText(form, name) ?? current);
  const next = {
    hourly: number('traffic_hourly', traffic.hourly),
    daily: number('traffic_daily', traffic.daily),
    monthly: number('traffic_monthly', traffic.monthly),
  };
  const invalid = Object.entries(next).flatMap(([name, value]) => (Number.isInteger(value) ? [] : [`traffic_${name}`]));
  if (warnings !== 'true' && warnings !== 'false') invalid.push('traffic_warnings');
  if (invalid.length > 0) throw invalidInputError({ invalid });
  Object.assign(traffic, next, { warnings: warnings === 'true' });
}

/** The main address uses the server's own NIC; only other addresses can have a MAC of their own. */
function additionalIp(ask: WebserviceRequest): IpState {
  const { ip } = ipOfRequest(ask);
  if (ip.isMain) throw notFoundRobotError('MAC_NOT_AVAILABLE', 'there is no separate MAC for this address');
  return ip;
}

const describeMac = ({ ip, separateMac }: IpState) => ({ mac: { ip, mac: separateMac } });

const newMac = (): string =>
  ['00', '50', '56', ...Array.from({ length: 3 }, () => randomInt(256).toString(16).padStart(2, '0'))].join(':');

const ipEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/ip',
    group: 'ip',
    handle: (ask) =>
      okReply(
        notFoundIfEmpty(
          serversByQuery(ask).flatMap((server) => server.ips.map((ip) => ({ ip: describeIp(server, ip) }))),
        ),
      ),
  },
  {
    method: 'GET',
    path: '/ip/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, ip } = ipOfRequest(ask);
      return okReply({ ip: detailsOfIp(server, ip) });
    },
  },
  {
    method: 'POST',
    path: '/ip/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, ip } = ipOfRequest(ask);
      setTraffic(ip.traffic, ask.form);
      return okReply({ ip: detailsOfIp(server, ip) });
    },
  },
];

const macEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac === null) throw notFoundRobotError('MAC_NOT_FOUND', 'there is no separate MAC');
      return okReply(describeMac(ip));
    },
  },
  {
    method: 'PUT',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac !== null) throw conflictRobotError('MAC_ALREADY_SET', 'there is a separate MAC already');
      ip.separateMac = newMac();
      return okReply(describeMac(ip));
    },
  },
  {
    method: 'DELETE',
    path: '/ip/{ip}/mac',
    group: 'mac',
    handle: (ask) => {
      const ip = additionalIp(ask);
      if (ip.separateMac === null) throw conflictRobotError('MAC_NOT_FOUND', 'there is no separate MAC');
      ip.separateMac = null;
      return okReply(describeMac(ip));
    },
  },
];

const subnetEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/subnet',
    group: 'ip',
    handle: (ask) =>
      okReply(
        notFoundIfEmpty(
          serversByQuery(ask).flatMap((server) =>
            server.subnets.map((subnet) => ({ subnet: describeSubnet(server, subnet) })),
          ),
        ),
      ),
  },
  {
    method: 'GET',
    path: '/subnet/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, subnet } = subnetOfRequest(ask);
      return okReply({ subnet: describeSubnet(server, subnet) });
    },
  },
  {
    method: 'POST',
    path: '/subnet/{ip}',
    group: 'ip',
    handle: (ask) => {
      const { server, subnet } = subnetOfRequest(ask);
      setTraffic(subnet.traffic, ask.form);
      return okReply({ subnet: describeSubnet(server, subnet) });
    },
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map(
    (method): RobotEndpoint => ({
      method,
      path: '/subnet/{ip}/mac',
      group: 'mac',
      handle: (ask) => {
        subnetOfRequest(ask);
        throw notFoundRobotError('MAC_NOT_AVAILABLE', 'there is no separate MAC for this subnet');
      },
    }),
  ),
];

export const addressEndpoints: readonly RobotEndpoint[] = [...ipEndpoints, ...macEndpoints, ...subnetEndpoints];

/** Every single address of an account that may have a name in reverse DNS. */
export const ownsAddress = (ask: WebserviceRequest, ip: string): boolean =>
  serversOf(ask.robot, ask.account).some(
    (server) =>
      server.ips.some((one) => one.ip === ip) ||
      (!isIPv4(ip) && server.subnets.some((subnet) => ip.startsWith(subnet.ip.replace(/::$/, ':')))),
  );
