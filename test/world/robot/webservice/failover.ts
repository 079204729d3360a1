import { isIPv4 } from 'node:net';
import type { Failover } from '../state.ts';
import { type Ask, type Endpoint, filled, identityOf, ok, serversOf } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { text } from './form.ts';

const describe = ({ ip, netmask, server, active }: Failover) => ({
  failover: { ip, netmask, ...identityOf(server), active_server_ip: active },
});

function failoverIn({ account, params }: Ask): Failover {
  const failover = account.failovers.get(params['ip'] ?? '');
  if (!failover) throw notFound();
  return failover;
}

/** The answer comes when it is done; it is done even when nobody waits for it any more. */
async function route({ robot }: Ask, failover: Failover, target: string | null): Promise<void> {
  if (failover.locked) throw conflict('FAILOVER_LOCKED', 'failover is locked by another request');
  failover.locked = true;
  try {
    await robot.clock.sleep(robot.delays.failoverSeconds, robot.signal);
    failover.active = target;
  } finally {
    failover.locked = false;
  }
}

/** The main IPv4 of a server of the account; for an IPv6 net, the address of a main network. */
function targetIn({ robot, account, form }: Ask, failover: Failover): string {
  const target = text(form, 'active_server_ip');
  if (target === undefined) throw invalidInput({ missing: ['active_server_ip'] });
  const isV4 = isIPv4(failover.ip);
  const found = serversOf(robot, account).some(({ address, ipv6Net }) => target === (isV4 ? address : ipv6Net));
  if (!found) throw notFound('FAILOVER_NEW_SERVER_NOT_FOUND', 'new server not found');
  return target;
}

export const failoverEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/failover',
    group: 'failover',
    handle: ({ account }) => ok(filled([...account.failovers.values()].map(describe))),
  },
  { method: 'GET', path: '/failover/{ip}', group: 'failover', handle: (ask) => ok(describe(failoverIn(ask))) },
  {
    method: 'POST',
    path: '/failover/{ip}',
    group: 'failover',
    handle: async (ask) => {
      const failover = failoverIn(ask);
      const target = targetIn(ask, failover);
      if (!failover.locked && failover.active === target) {
        throw conflict('FAILOVER_ALREADY_ROUTED', 'failover is already routed to this server');
      }
      await route(ask, failover, target);
      return ok(describe(failover));
    },
  },
  {
    method: 'DELETE',
    path: '/failover/{ip}',
    group: 'failover',
    handle: async (ask) => {
      const failover = failoverIn(ask);
      await route(ask, failover, null);
      return ok(describe(failover));
    },
  },
];
