import { type ResetType, resetTypes, type Server } from '../state.ts';
import { later } from '../time.ts';
import { type Endpoint, filled, identityOf, ok, serverIn, serversOf } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { text } from './form.ts';

const describe = (server: Server) => ({ ...identityOf(server), type: server.resets });

function checked(server: Server): Server {
  if (server.resets.length === 0) throw notFound('RESET_NOT_AVAILABLE', 'reset not available for this server');
  return server;
}

function operatingStatus({ tellsOperatingStatus, machine }: Server): string {
  if (!tellsOperatingStatus) return 'not supported';
  return machine.isOn ? 'running' : 'shut off';
}

const isOffered = (server: Server, type: string): type is ResetType =>
  (resetTypes as readonly string[]).includes(type) && (server.resets as readonly string[]).includes(type);

export const resetEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/reset',
    group: 'reset',
    handle: ({ robot, account }) => {
      const able = serversOf(robot, account).filter(({ resets }) => resets.length > 0);
      return ok(filled(able.map((server) => ({ reset: describe(server) }))));
    },
  },
  {
    method: 'GET',
    path: '/reset/{n}',
    group: 'reset',
    handle: (ask) => {
      const server = checked(serverIn(ask));
      return ok({ reset: { ...describe(server), operating_status: operatingStatus(server) } });
    },
  },
  {
    method: 'POST',
    path: '/reset/{n}',
    group: 'reset',
    handle: (ask) => {
      const server = checked(serverIn(ask));
      const type = text(ask.form, 'type');
      if (type === undefined) throw invalidInput({ missing: ['type'] });
      if (!isOffered(server, type)) throw invalidInput({ invalid: ['type'] });
      if (server.manualResetOpen) throw conflict('RESET_MANUAL_ACTIVE', 'a manual reset is active');
      if (type === 'man') {
        server.manualResetOpen = true;
        later(ask.robot, ask.robot.delays.technicianSeconds, () => {
          server.manualResetOpen = false;
          server.machine.powerCycle();
        });
      } else {
        server.machine.reset(type);
      }
      // The printed sample of the documentation has no number here.
      const { server_number: _, ...identity } = identityOf(server);
      return ok({ reset: { ...identity, type } });
    },
  },
];
