import type { HostContext, HostInventory } from '../../../engine/capabilities/hosts.ts';
import { done, fail, type Step, wait } from '../../../engine/step.ts';
import type { RobotConfig } from '../config.ts';
import { robotClientFor, secondsSince, textFact } from '../context.ts';
import { ownershipByName } from '../mark.ts';
import { serverListMaxAgeSeconds } from '../observe.ts';
import { describeMissingServer, hostRejectionReason, unfitReason } from '../steps/claim-server.ts';
import { chooseDiskBootReset } from '../steps/disk-boot-reset.ts';
import { enterRescueSteps, type RescueTarget } from '../steps/enter-rescue.ts';
import { isRescueGone, runInRescue, runInVerifiedRescue } from '../steps/run-in-rescue.ts';
import { runOrWait } from '../steps/run-or-wait.ts';
import { planDisks } from './disk-plan.ts';
import { listAccountServers } from './list-servers.ts';
import { robotHostSchemas, toRobotHost } from './robot-host.ts';
import { selectorMismatch } from './selector.ts';

type RobotHostContext = HostContext<RobotConfig>;

async function rescueTargetOf(context: RobotHostContext): Promise<RescueTarget> {
  const { host, hostedServers, updateStatus } = context;
  return {
    host: toRobotHost(host),
    address: host.server?.address ?? '',
    macs: host.hardware?.nics.map(({ mac }) => mac) ?? [],
    servers: hostedServers,
    isOurs: false,
    recordResetTypes: (resetTypes) => updateStatus({ platformStatus: { resetTypes } }),
  };
}

/**
 * Before: a user requested an inspection. After: by its name in Robot no machine uses the server. Done when Robot
 * confirms it.
 */
const foundUnused: Step<RobotHostContext> = {
  name: 'found-unused',
  run: (context) =>
    runOrWait(async () => {
      const { owner, hostedServers } = context;
      const host = toRobotHost(context.host);
      const server = await robotClientFor(context, hostedServers).getServer(host.number, context);
      const refused = unfitReason(host, server);
      if (refused) return fail('ServerUnfit', refused);
      if (ownershipByName(server.name, owner, host.spec.expect.name) !== 'others') return done();
      return fail(
        'OwnedByOthers',
        `Server ${server.number} has the name ${server.name} in Robot, which marks servers in use. It is not rebooted.`,
      );
    }),
};

/** The steps to the rescue system. A rescue system that is lost before the hardware is recorded is entered again. */
const entry = { armed: 'inspection-armed', reset: 'inspection-reset', entered: 'inspection-begun' };

/** Before: rescue was verified. After: the hardware of the server is recorded in its Host. */
const hardwareNoted: Step<RobotHostContext> = {
  name: 'hardware-noted',
  run: (context) =>
    runInVerifiedRescue(context, context.host.server?.address ?? '', entry.armed, async (rescue) => {
      const { cpu, memoryMiB, firmware, nics, disks } = await rescue.inspect();
      const kept = disks.map(({ byId: _, sectorBytes: __, ...disk }) => disk);
      await context.updateStatus({
        hardware: { cpu, memoryMiB, firmware, nics, disks: kept, inspectedAt: context.clock.now().toISOString() },
      });
      return done();
    }),
};

/**
 * Before: anything. After: the server leaves rescue and boots from its disks. Done when the rescue system is gone after an
 * attempt, whose reply may have been lost.
 */
const rescueLeft: Step<RobotHostContext> = {
  name: 'rescue-left',
  async run(context) {
    const rebootTriedAt = textFact(context, 'rebootTriedAt');
    try {
      await runInRescue(context, context.host.server?.address ?? '', (rescue) => rescue.reboot());
    } catch (error) {
      if (!isRescueGone(error)) throw error;
      if (rebootTriedAt !== '') return done();
    }
    const now = context.clock.now().toISOString();
    return wait(10, 'The server leaves the rescue system.', { rebootTriedAt: rebootTriedAt || now });
  },
};

/** Before: a user requested a reboot. After: the boot ID before the reset is known, if a node answers. */
const bootNoted: Step<RobotHostContext> = {
  name: 'boot-noted',
  run: async (context) =>
    done({ bootIdBefore: (await context.bootId()) ?? '', bootNotedAt: context.clock.now().toISOString() }),
};

/** A server boots within five minutes; twice that time means a fault. */
const rebootTimeoutSeconds = 600;

/**
 * Before: anything. After: Robot was asked to reset the server. Done when the node runs another boot: the request may have
 * been made by a process that could not record it. For the same reason a node that has just answered, and does not any more,
 * is waited for.
 */
const resetRequested: Step<RobotHostContext> = {
  name: 'reset-requested',
  run: (context) =>
    runOrWait(async () => {
      const { hostedServers, signal } = context;
      const before = textFact(context, 'bootIdBefore');
      const now = before === '' ? '' : await context.bootId();
      const resetAt = context.clock.now().toISOString();
      if (now !== undefined && now !== before) return done({ resetAt });
      if (now === undefined && (secondsSince(context, 'bootNotedAt') ?? 0) <= rebootTimeoutSeconds)
        return wait(10, 'The node does not answer any more. The server may be rebooting already.');
      const host = toRobotHost(context.host);
      const robot = robotClientFor(context, hostedServers);
      const chosen = await chooseDiskBootReset(robot, host, { earlier: 0, signal });
      if ('refused' in chosen) return chosen.refused;
      await robot.reset(host.number, chosen.type, { signal });
      return done({ resetAt });
    }),
};

/**
 * Before: the server was reset. After: it runs another boot. Done when its node reports another boot ID. Without a node
 * on the server there is no boot ID, and the step is skipped.
 */
const rebootProven: Step<RobotHostContext> = {
  name: 'reboot-proven',
  async run(context) {
    const before = textFact(context, 'bootIdBefore');
    if (before === '') return done();
    const now = await context.bootId();
    if (now !== undefined && now !== before) return done();
    if ((secondsSince(context, 'resetAt') ?? 0) <= rebootTimeoutSeconds) return wait(10, 'The server is rebooting.');
    const why = now === undefined ? 'has not answered since' : 'is still in the same boot';
    return fail('RebootNotSeen', `The server was reset and ${why}. Check its console.`);
  },
};

/** Servers that users provide, each described by a Host. */
export const inventory: HostInventory<RobotConfig> = {
  schemas: robotHostSchemas,
  mayClaim: ({ sizes }, labels) =>
    sizes.some(({ hostSelector }) => selectorMismatch(hostSelector, labels) === undefined),
  whyUnsuitable: (config, host, node) => hostRejectionReason(host, config, node),
  whyUnusable: ({ spec, hardware }) => {
    const plan = hardware && planDisks(spec, hardware.disks);
    return plan && 'refused' in plan ? plan.refused : undefined;
  },
  listServers: listAccountServers,
  async identify(context) {
    const { hostedServers, signal } = context;
    const host = toRobotHost(context.host);
    const all = await robotClientFor(context, hostedServers).listServers({
      signal,
      maxAgeSeconds: serverListMaxAgeSeconds,
    });
    const server = all.find(({ number }) => number === host.number);
    if (!server) {
      return { refused: describeMissingServer(host) };
    }
    const refused = unfitReason(host, server);
    if (refused) return { refused };
    const { address = '', ipv6Net = '', product, dc } = server;
    return { server: { address, ipv6Net, product, location: dc } };
  },
  inspect: [foundUnused, ...enterRescueSteps<RobotHostContext>(entry, rescueTargetOf), hardwareNoted, rescueLeft],
  reboot: [bootNoted, resetRequested, rebootProven],
};
