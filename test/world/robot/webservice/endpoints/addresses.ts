import type { ServerState } from '../../state.ts';
import { endpoint, notFoundIfEmpty, okReply, type RobotEndpoint, serversOf } from '../endpoint.ts';
import { notFoundRobotError } from '../errors.ts';

/** Traffic is not simulated. */
const noTrafficWarnings = { traffic_warnings: false, traffic_hourly: 200, traffic_daily: 2000, traffic_monthly: 20 };

const describeIp = ({ address, number, gateway, prefix }: ServerState, ip: string) => ({
  ip,
  server_ip: address,
  server_number: number,
  locked: false,
  separate_mac: null,
  ...noTrafficWarnings,
  gateway,
  mask: prefix,
  broadcast: broadcastOf(ip, prefix),
});

const describeSubnet = ({ address, number, ipv6Net }: ServerState) => ({
  ip: ipv6Net,
  mask: 64,
  gateway: 'fe80::1',
  server_ip: address,
  server_number: number,
  failover: false,
  locked: false,
  ...noTrafficWarnings,
});

function broadcastOf(ip: string, prefix: number): string {
  const value = ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - prefix);
  const last = Math.floor(value / size) * size + size - 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(last / 2 ** shift) % 256).join('.');
}

export const addressEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /ip/{ip}', ({ robot, account, params: { ip = '' } }) => {
    const server = serversOf(robot, account).find(({ ips }) => ips.includes(ip));
    if (!server) throw notFoundRobotError('IP_NOT_FOUND', 'ip not found');
    return okReply({ ip: describeIp(server, ip) });
  }),
  // All servers, or the one of `?server_ip=`.
  endpoint('GET /subnet', ({ robot, account, query }) => {
    const wanted = query.get('server_ip');
    const servers = serversOf(robot, account).filter(({ address }) => wanted === null || address === wanted);
    return okReply(notFoundIfEmpty(servers.map((server) => ({ subnet: describeSubnet(server) }))));
  }),
];
