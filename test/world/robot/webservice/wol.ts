import type { Server } from '../state.ts';
import { type Ask, type Endpoint, identityOf, ok, serverIn } from './endpoint.ts';
import { notFound } from './errors.ts';

function able(ask: Ask): Server {
  const server = serverIn(ask);
  if (!server.hasWakeOnLan) throw notFound('WOL_NOT_AVAILABLE', 'wake on LAN not available for this server');
  return server;
}

export const wolEndpoints: readonly Endpoint[] = [
  { method: 'GET', path: '/wol/{n}', group: 'wol', handle: (ask) => ok({ wol: identityOf(able(ask)) }) },
  {
    method: 'POST',
    path: '/wol/{n}',
    group: 'wol',
    handle: (ask) => {
      const server = able(ask);
      server.machine.switchOn();
      return ok({ wol: identityOf(server) });
    },
  },
];
