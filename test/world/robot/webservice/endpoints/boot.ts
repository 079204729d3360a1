import {
  type BootActivation,
  type BootConfigKind,
  bootConfigKinds,
  type RobotState,
  type ServerState,
} from '../../state.ts';
import { currentActivation } from '../boot-activation.ts';
import {
  endpoint,
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  serverOfRequest,
  type WebserviceRequest,
} from '../endpoint.ts';
import { notFoundRobotError } from '../errors.ts';
import { armRescue } from './arm-boot.ts';
import { describeKeyBriefly } from './keys.ts';

/** The systems of rescue, and of each configuration that installs one. */
const rescueSystems = ['linux', 'linuxold', 'vkvm', 'vkvmold'];
const installerSystems = ['Debian 12 base'];

/** Rescue as shown: the available values while it is inactive, the chosen ones while it is active. */
const describeRescue = (robot: RobotState, server: ServerState, activation: BootActivation | undefined) => ({
  ...serverIdentityFields(server),
  os: activation?.system ?? rescueSystems,
  // Deprecated, and reportedly missing in newer answers.
  ...(robot.behaviour.sendsArch && { arch: activation ? 64 : [64, 32] }),
  active: activation !== undefined,
  password: activation?.password ?? null,
  authorized_key: (activation?.keys ?? []).map((key) => ({ key: describeKeyBriefly(key) })),
  host_key: [],
  boot_time: null,
});

/** A configuration that installs a system, in the fields that all of them have. */
const describeInstaller = (server: ServerState, activation: BootActivation | undefined) => ({
  ...serverIdentityFields(server),
  dist: activation?.system ?? installerSystems,
  lang: activation ? 'en' : ['en'],
  active: activation !== undefined,
  password: activation?.password ?? null,
});

/** Null: the product does not offer it. */
function describeConfig(robot: RobotState, server: ServerState, kind: BootConfigKind) {
  if (!server.offers.includes(kind)) return null;
  const current = currentActivation(robot, server);
  const activation = current?.kind === kind ? current : undefined;
  return kind === 'rescue' ? describeRescue(robot, server, activation) : describeInstaller(server, activation);
}

function serverWithRescue(ask: WebserviceRequest): ServerState {
  const server = serverOfRequest(ask);
  if (!server.offers.includes('rescue'))
    throw notFoundRobotError('BOOT_NOT_AVAILABLE', 'rescue is not available for this server');
  return server;
}

const path = '/boot/{n}/rescue';
const showRescue = ({ robot }: WebserviceRequest, server: ServerState) =>
  okReply({ rescue: describeConfig(robot, server, 'rescue') });

/** Installers are shown. Nothing arms one by a call: a test sets `activation`, as other people would. */
export const bootEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /boot/{n}', (ask) => {
    const server = serverOfRequest(ask);
    const sections = bootConfigKinds.map((kind) => [kind, describeConfig(ask.robot, server, kind)]);
    return okReply({ boot: Object.fromEntries(sections) });
  }),
  endpoint(`GET ${path}`, (ask) => showRescue(ask, serverWithRescue(ask))),
  endpoint(`GET ${path}/last`, (ask) => {
    const server = serverWithRescue(ask);
    if (!server.lastRescue) throw notFoundRobotError();
    return okReply({ rescue: { ...describeRescue(ask.robot, server, server.lastRescue), active: false } });
  }),
  endpoint(`POST ${path}`, (ask) => {
    const server = serverWithRescue(ask);
    armRescue(ask, server);
    return showRescue(ask, server);
  }),
  endpoint(`DELETE ${path}`, (ask) => {
    const server = serverWithRescue(ask);
    if (currentActivation(ask.robot, server)?.kind === 'rescue') server.activation = undefined;
    return showRescue(ask, server);
  }),
];
