import {
  type BootActivation,
  type BootConfigKind,
  bootConfigKinds,
  type RobotState,
  type ServerState,
} from '../../state.ts';
import { currentActivation } from '../boot-activation.ts';
import {
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  serverOfRequest,
  type WebserviceRequest,
} from '../endpoint.ts';
import { notFoundRobotError } from '../errors.ts';
import { armBoot } from './arm-boot.ts';
import { bootKindDescriptions } from './boot-kinds.ts';
import { describeKeyBriefly } from './keys.ts';

/** One configuration as shown: the available values while it is inactive, the chosen ones while it is active. */
function describe(
  robot: RobotState,
  server: ServerState,
  kind: BootConfigKind,
  activation: BootActivation | undefined,
) {
  const { systemField, systems, langs, takesKeys, takesHostname } = bootKindDescriptions[kind];
  return {
    ...serverIdentityFields(server),
    [systemField]: activation?.system ?? systems,
    ...archOf(robot, kind, activation),
    ...(langs && { lang: activation?.lang ?? langs }),
    active: activation !== undefined,
    password: activation?.password ?? null,
    ...(takesKeys && {
      authorized_key: (activation?.keys ?? []).map((key) => ({ key: describeKeyBriefly(key) })),
      host_key: [],
    }),
    ...(takesHostname && { hostname: activation?.hostname ?? null }),
    ...(kind === 'rescue' && { boot_time: null }),
  };
}

/** Deprecated, and reportedly missing in newer answers. */
function archOf({ behaviour }: RobotState, kind: BootConfigKind, activation: BootActivation | undefined): object {
  if (!bootKindDescriptions[kind].hasArch || !behaviour.sendsArch) return {};
  return { arch: activation?.arch ?? [64, 32] };
}

/** The active configuration of this kind. */
function activeOf(robot: RobotState, server: ServerState, kind: BootConfigKind): BootActivation | undefined {
  const activation = currentActivation(robot, server);
  return activation?.kind === kind ? activation : undefined;
}

const showConfig = (robot: RobotState, server: ServerState, kind: BootConfigKind) =>
  describe(robot, server, kind, activeOf(robot, server, kind));

function serverOffering(ask: WebserviceRequest, kind: BootConfigKind): ServerState {
  const server = serverOfRequest(ask);
  if (!server.offers.includes(kind)) {
    throw notFoundRobotError(
      bootKindDescriptions[kind].missingAddon ?? 'BOOT_NOT_AVAILABLE',
      `${kind} is not available for this server`,
    );
  }
  return server;
}

function endpointsOf(kind: BootConfigKind): RobotEndpoint[] {
  const path = `/boot/{n}/${kind}`;
  const group = 'boot';
  const get = (ask: WebserviceRequest) => okReply({ [kind]: showConfig(ask.robot, serverOffering(ask, kind), kind) });
  const last = (ask: WebserviceRequest) => {
    const server = serverOffering(ask, kind);
    const activation = server.lastActivations.get(kind);
    if (!activation) throw notFoundRobotError();
    return okReply({ [kind]: { ...describe(ask.robot, server, kind, activation), active: false } });
  };
  const post = (ask: WebserviceRequest) => {
    const server = serverOffering(ask, kind);
    armBoot(ask, server, kind);
    return okReply({ [kind]: showConfig(ask.robot, server, kind) });
  };
  const remove = (ask: WebserviceRequest) => {
    const server = serverOffering(ask, kind);
    if (activeOf(ask.robot, server, kind)) server.activation = undefined;
    return okReply({ [kind]: showConfig(ask.robot, server, kind) });
  };
  return [
    { method: 'GET', path, group, handle: get },
    ...(bootKindDescriptions[kind].hasLast
      ? [{ method: 'GET', path: `${path}/last`, group, handle: last } as const]
      : []),
    { method: 'POST', path, group, handle: post },
    { method: 'DELETE', path, group, handle: remove },
  ];
}

export const bootEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'GET',
    path: '/boot/{n}',
    group: 'boot',
    handle: (ask) => {
      const server = serverOfRequest(ask);
      const section = (kind: BootConfigKind) =>
        server.offers.includes(kind) ? showConfig(ask.robot, server, kind) : null;
      return okReply({ boot: Object.fromEntries(bootConfigKinds.map((kind) => [kind, section(kind)])) });
    },
  },
  ...bootConfigKinds.flatMap(endpointsOf),
];
