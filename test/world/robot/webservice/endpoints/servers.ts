import { bootConfigKinds, type ServerState } from '../../state.ts';
import {
  endpoint,
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  serverOfRequest,
  serversOf,
} from '../endpoint.ts';
import { invalidInputError } from '../errors.ts';
import { formText } from '../php-form.ts';

const summary = (server: ServerState) => ({
  ...serverIdentityFields(server),
  server_name: server.name,
  product: server.product,
  dc: server.dc,
  traffic: 'unlimited',
  status: server.status,
  cancelled: server.cancelled,
  paid_until: server.paidUntil,
  ip: server.address === null ? null : server.ips,
  // The mask is a string only here.
  subnet: [{ ip: server.ipv6Net, mask: '64' }],
});

function details(server: ServerState) {
  const offers = Object.fromEntries(
    bootConfigKinds.filter((kind) => kind !== 'linux').map((kind) => [kind, server.offers.includes(kind)]),
  );
  return {
    ...summary(server),
    reset: server.resets.length > 0,
    ...offers,
    wol: true,
    hot_swap: false,
    linked_storagebox: null,
  };
}

export const serverEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /server', ({ robot, account }) =>
    okReply(serversOf(robot, account).map((server) => ({ server: summary(server) }))),
  ),
  endpoint('GET /server/{n}', (ask) => okReply({ server: details(serverOfRequest(ask)) })),
  endpoint('POST /server/{n}', (ask) => {
    const server = serverOfRequest(ask);
    const name = formText(ask.form, 'server_name');
    if (name === undefined) throw invalidInputError({ missing: ['server_name'] });
    server.name = name;
    return okReply({ server: details(server) });
  }),
];
