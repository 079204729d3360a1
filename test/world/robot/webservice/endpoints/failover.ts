import { isIPv4 } from 'node:net';
import type { FailoverState } from '../../state.ts';
import {
  endpoint,
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  serversOf,
  type WebserviceRequest,
} from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';

const describe = ({ ip, netmask, server, active }: FailoverState) => ({
  failover: { ip, netmask, ...serverIdentityFields(server), active_server_ip: active },
});

function failoverOfRequest({ account, params }: WebserviceRequest): FailoverState {
  const failover = account.failovers.get(params['ip'] ?? '');
  if (!failover) throw notFoundRobotError();
  return failover;
}

/** The answer is sent when the switch is complete; the switch also completes after the client disconnects. */
async function routeFailover({ robot }: WebserviceRequest, failover: FailoverState, target: string): Promise<void> {
  if (failover.locked) throw conflictRobotError('FAILOVER_LOCKED', 'failover is locked by another request');
  failover.locked = true;
  try {
    await robot.clock.sleep(robot.delays.failoverSeconds, robot.signal);
    failover.active = target;
  } finally {
    failover.locked = false;
  }
}

/** The main IPv4 of a server of the account; for an IPv6 net, the address of a main network. */
function targetOfForm({ robot, account, form }: WebserviceRequest, failover: FailoverState): string {
  const target = formText(form, 'active_server_ip');
  if (target === undefined) throw invalidInputError({ missing: ['active_server_ip'] });
  const isV4 = isIPv4(failover.ip);
  const found = serversOf(robot, account).some(({ address, ipv6Net }) => target === (isV4 ? address : ipv6Net));
  if (!found) throw notFoundRobotError('FAILOVER_NEW_SERVER_NOT_FOUND', 'new server not found');
  return target;
}

export const failoverEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /failover/{ip}', (ask) => okReply(describe(failoverOfRequest(ask)))),
  endpoint('POST /failover/{ip}', async (ask) => {
    const failover = failoverOfRequest(ask);
    const target = targetOfForm(ask, failover);
    if (!failover.locked && failover.active === target) {
      throw conflictRobotError('FAILOVER_ALREADY_ROUTED', 'failover is already routed to this server');
    }
    await routeFailover(ask, failover, target);
    return okReply(describe(failover));
  }),
];
