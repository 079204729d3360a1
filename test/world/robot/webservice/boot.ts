import { armed } from '../boot-state.ts';
import { type Activation, type BootKind, bootKinds, type Robot, type Server } from '../state.ts';
import { arm } from './boot-arm.ts';
import { bootFacts } from './boot-kinds.ts';
import { type Ask, type Endpoint, identityOf, ok, serverIn } from './endpoint.ts';
import { notFound } from './errors.ts';
import { describeKeyBriefly } from './keys.ts';

/** One configuration as it is shown: lists of what there is while it is inactive, what was chosen while it is active. */
function describe(robot: Robot, server: Server, kind: BootKind, activation: Activation | undefined) {
  const { systemField, systems, langs, takesKeys, takesHostname } = bootFacts[kind];
  return {
    ...identityOf(server),
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

/** Deprecated, and said to be missing in newer answers. */
function archOf({ behaviour }: Robot, kind: BootKind, activation: Activation | undefined): object {
  if (!bootFacts[kind].hasArch || !behaviour.sendsArch) return {};
  return { arch: activation?.arch ?? [64, 32] };
}

/** What is active of this kind. */
function activeOf(robot: Robot, server: Server, kind: BootKind): Activation | undefined {
  const activation = armed(robot, server);
  return activation?.kind === kind ? activation : undefined;
}

const show = (robot: Robot, server: Server, kind: BootKind) =>
  describe(robot, server, kind, activeOf(robot, server, kind));

function offering(ask: Ask, kind: BootKind): Server {
  const server = serverIn(ask);
  if (!server.offers.includes(kind)) {
    throw notFound(bootFacts[kind].missingAddon ?? 'BOOT_NOT_AVAILABLE', `${kind} is not available for this server`);
  }
  return server;
}

function endpointsOf(kind: BootKind): Endpoint[] {
  const path = `/boot/{n}/${kind}`;
  const group = 'boot';
  const get = (ask: Ask) => ok({ [kind]: show(ask.robot, offering(ask, kind), kind) });
  const last = (ask: Ask) => {
    const server = offering(ask, kind);
    const activation = server.lastActivations.get(kind);
    if (!activation) throw notFound();
    return ok({ [kind]: { ...describe(ask.robot, server, kind, activation), active: false } });
  };
  const post = (ask: Ask) => {
    const server = offering(ask, kind);
    arm(ask, server, kind);
    return ok({ [kind]: show(ask.robot, server, kind) });
  };
  const remove = (ask: Ask) => {
    const server = offering(ask, kind);
    if (activeOf(ask.robot, server, kind)) server.activation = undefined;
    return ok({ [kind]: show(ask.robot, server, kind) });
  };
  return [
    { method: 'GET', path, group, handle: get },
    ...(bootFacts[kind].hasLast ? [{ method: 'GET', path: `${path}/last`, group, handle: last } as const] : []),
    { method: 'POST', path, group, handle: post },
    { method: 'DELETE', path, group, handle: remove },
  ];
}

export const bootEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/boot/{n}',
    group: 'boot',
    handle: (ask) => {
      const server = serverIn(ask);
      const section = (kind: BootKind) => (server.offers.includes(kind) ? show(ask.robot, server, kind) : null);
      return ok({ boot: Object.fromEntries(bootKinds.map((kind) => [kind, section(kind)])) });
    },
  },
  ...bootKinds.flatMap(endpointsOf),
];
