import type { ServerState } from '../../state.ts';
import {
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  serverOfRequest,
  type WebserviceRequest,
} from '../endpoint.ts';
import { notFoundRobotError } from '../errors.ts';

function serverWithWakeOnLan(ask: WebserviceRequest): ServerState {
  const server = serverOfRequest(ask);
  if (!server.hasWakeOnLan) throw notFoundRobotError('WOL_NOT_AVAILABLE', 'wake on LAN not available for this server');
  return server;
}

export const wolEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/wol/{n}',
    group: 'wol',
    handle: (ask) => okReply({ wol: serverIdentityFields(serverWithWakeOnLan(ask)) }),
  },
  {
    method: 'POST',
    path: '/wol/{n}',
    group: 'wol',
    handle: (ask) => {
      const server = serverWithWakeOnLan(ask);
      server.machine.switchOn();
      return okReply({ wol: serverIdentityFields(server) });
    },
  },
];
