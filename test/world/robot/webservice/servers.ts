import { bootKinds, type Server } from '../state.ts';
import { type Endpoint, identityOf, ok, serverIn, serversOf } from './endpoint.ts';
import { invalidInput } from './errors.ts';
import { text } from './form.ts';

const summary = (server: Server) => ({
  ...identityOf(server),
  server_name: server.name,
  product: server.product,
  dc: server.dc,
  traffic: server.traffic,
  status: server.status,
  cancelled: server.cancelled,
  paid_until: server.paidUntil,
  ip: server.address === null ? null : server.ips.map(({ ip }) => ip),
  // Only here the mask is a text.
  subnet: server.subnets.length === 0 ? null : server.subnets.map(({ ip, mask }) => ({ ip, mask: String(mask) })),
});

function details(server: Server) {
  const offers = Object.fromEntries(
    bootKinds.filter((kind) => kind !== 'linux').map((kind) => [kind, server.offers.includes(kind)]),
  );
  return {
    ...summary(server),
    reset: server.resets.length > 0,
    ...offers,
    rescue: server.saysRescue,
    wol: server.hasWakeOnLan,
    hot_swap: false,
    linked_storagebox: null,
  };
}

export const serverEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/server',
    group: 'server',
    handle: ({ robot, account }) => ok(serversOf(robot, account).map((server) => ({ server: summary(server) }))),
  },
  { method: 'GET', path: '/server/{n}', group: 'server', handle: (ask) => ok({ server: details(serverIn(ask)) }) },
  {
    method: 'POST',
    path: '/server/{n}',
    group: 'server',
    handle: (ask) => {
      const server = serverIn(ask);
      const name = text(ask.form, 'server_name');
      if (name === undefined) throw invalidInput({ missing: ['server_name'] });
      server.name = name;
      return ok({ server: details(server) });
    },
  },
];
