import { type RepairContext, toRestartedFact } from '../../../engine/capabilities/repair.ts';
import { done, fail, type Step, wait } from '../../../engine/step.ts';
import type { RobotConfig } from '../config.ts';
import { getClaimedHost, robotClientFor } from '../context.ts';
import { hasCode } from '../errors.ts';
import { lostOwnershipReason } from './claim-server.ts';
import { chooseDiskBootReset } from './disk-boot-reset.ts';
import { runOrWait } from './run-or-wait.ts';

type RobotRepairContext = RepairContext<RobotConfig>;

/**
 * Before: the node is unhealthy, and a restart was requested. After: Robot was asked once to reset the server, which has
 * our mark. Done when it was, or none is requested: whether the node comes back is observed later.
 */
const nodeRestarted: Step<RobotRepairContext> = {
  name: 'node-restarted',
  deadlineMinutes: 15,
  run: (context) =>
    runOrWait(async () => {
      const { restart, signal } = context;
      if (!restart) return done();
      const host = await getClaimedHost(context);
      if (host.spec.maintenance)
        return wait(60, `Host ${host.name} is in maintenance: it is reset when spec.maintenance is false.`);
      const lost = await lostOwnershipReason(context, host);
      if (lost !== undefined) return fail('ServerRenamed', lost);
      const robot = robotClientFor(context, context.hosts.servers);
      robot.checkResetBudget(host.number);
      const chosen = await chooseDiskBootReset(robot, host, { earlier: restart.attempt - 1, signal });
      if ('refused' in chosen) return chosen.refused;
      try {
        await robot.reset(host.number, chosen.type, { signal });
      } catch (error) {
        // The reset probably happened. If not, the next attempt follows.
        if (!hasCode(error, 'ROBOT_OUTCOME_UNKNOWN', 'DEADLINE_EXCEEDED')) throw error;
      }
      context.log.info({ server: host.number, type: chosen.type }, 'server reset');
      return done(toRestartedFact(restart));
    }),
};

/** Resets servers whose nodes are unhealthy. Nothing else of a running server can be repaired from outside. */
export const repair: readonly Step<RobotRepairContext>[] = [nodeRestarted];
