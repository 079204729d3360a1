import { done, fail, returnToStep, type Step, type StepOutcome, wait } from '../../../engine/step.ts';
import { uuidFromNames } from '../../../lib/hash.ts';
import type { RobotServer } from '../api/schema.ts';
import { findClaimedHost, type RobotStepContext, robotClientFor, textFact } from '../context.ts';
import type { RobotHost } from '../hosts/robot-host.ts';
import { markOf, ownershipByName } from '../mark.ts';
import { findMarkedServer, lostOwnershipReason, unfitReason } from './claim-server.ts';
import { enterRescueSteps, type RescueTarget } from './enter-rescue.ts';
import { toStepOutcome } from './provision.ts';
import {
  doneUntouchable,
  explainMissingServer,
  hasRentalEnded,
  isGivenUp,
  isRecordLost,
  isReleaseProven,
  isUntouchable,
  wasDiskWritten,
} from './release-proof.ts';
import { runInVerifiedRescue } from './run-in-rescue.ts';
import { runOrWait } from './run-or-wait.ts';
import { vswitchLeft } from './vswitch.ts';

/**
 * Before: anything. After: it is known whether the server is still ours, and its Host says that it is being released.
 * Done at once when nothing was written and no Host is held: a release never claims one. A written server has to be
 * erased, unless it is proven that it is not rented any more.
 */
const claimChecked: Step<RobotStepContext> = {
  name: 'claim-checked',
  run: (context) =>
    runOrWait(async () => {
      const host = await findClaimedHost(context);
      if (!host)
        return wasDiskWritten(context)
          ? fail('HostLost', describeLostHost(context))
          : doneUntouchable('nothing-written');
      if (host.spec.maintenance) {
        return wait(60, `Host ${host.name} is in maintenance: the release continues when spec.maintenance is false.`);
      }
      if (isRecordLost(context, host)) return fail('RecordLost', describeLostRecord(host));
      const server = await findMarkedServer(context, host);
      return wasDiskWritten(context)
        ? await checkWritten(context, host, server)
        : await checkUnwritten(context, host, server);
    }),
};

/** Nothing of the machine can run on the server. */
async function checkUnwritten(
  context: RobotStepContext,
  host: RobotHost,
  server: RobotServer | undefined,
): Promise<StepOutcome> {
  if (!server || server.cancelled) return doneUntouchable('nothing-written');
  const refused = unfitReason(host, server);
  if (refused) return fail('ServerUnfit', refused);
  if (server.name !== markOf(context.owner)) return doneUntouchable('nothing-written');
  await context.hosts.updateStatus({ state: 'Deprovisioning' });
  return done({ untouchable: false, proof: 'nothing-written' });
}

/**
 * Something of the machine may run on the server. The number identifies a server; its name only tells whether it has
 * another owner since.
 */
async function checkWritten(
  context: RobotStepContext,
  host: RobotHost,
  server: RobotServer | undefined,
): Promise<StepOutcome> {
  if (!server) {
    const { reason, message } = explainMissingServer(context, host.number);
    return fail(reason, message);
  }
  if (hasRentalEnded(server, context.clock.now())) return doneUntouchable('cancelled');
  // A cancelled server runs until its last day, and is erased before.
  const refused = unfitReason(host, { ...server, cancelled: false });
  if (refused) return fail('ServerUnfit', refused);
  if (server.name !== markOf(context.owner)) {
    if (!(await isProvenOurs(context, host, server))) return fail('ServerRenamed', describeRenamed(context, server));
    await robotClientFor(context, context.hosts.servers).renameServer(server.number, markOf(context.owner), context);
  }
  await context.hosts.updateStatus({ state: 'Deprovisioning' });
  return done({ untouchable: false, proof: '' });
}

/** A user renamed the server, and our own node still runs on it: its certificate proves that. */
async function isProvenOurs(context: RobotStepContext, { spec }: RobotHost, server: RobotServer): Promise<boolean> {
  const address = textFact(context, 'address');
  if (ownershipByName(server.name, context.owner, spec.expect.name) !== 'nobody' || server.address !== address)
    return false;
  return await context.ownNode(address).answers();
}

const describeRenamed = ({ owner }: RobotStepContext, { number, name }: RobotServer): string =>
  `The name of server ${number} in Robot is "${name}" instead of ${markOf(owner)}, and no node of the cluster answers at its address. The server may be in use elsewhere, or still run the node. If it is not in use elsewhere, rename it to ${markOf(owner)}: it is then erased.`;

const describeLostHost = (context: RobotStepContext): string =>
  `Server ${context.facts['server'] ?? ''} was written to, and no Host assigns it to this machine any more, so it must not be accessed. The node may still run. Erase the server, or power it off permanently.`;

const describeLostRecord = ({ name, number }: RobotHost): string =>
  `By the status of Host ${name}, server ${number} was written to, and the Machine has no record of it. The node may still run. Erase the server, or power it off permanently.`;

/** The server, if it is ours and was written to. */
async function targetToWipe(context: RobotStepContext): Promise<RescueTarget | undefined> {
  if (isUntouchable(context) || isReleaseProven(context) || !wasDiskWritten(context)) return undefined;
  const host = await findClaimedHost(context);
  if (!host) return undefined;
  const address = textFact(context, 'address');
  return {
    host,
    address,
    macs: [textFact(context, 'mac')],
    servers: context.hosts.servers,
    isOurs: true,
    node: context.ownNode(address),
    recordResetTypes: (resetTypes) => context.hosts.updateStatus({ platformStatus: { resetTypes } }),
  };
}

/**
 * Before: the server is in rescue again. After: the disks that were written to are blank, and no others. Done when the
 * job of this operation has succeeded.
 */
const leftoversWiped: Step<RobotStepContext> = {
  name: 'leftovers-wiped',
  deadlineMinutes: 20,
  async run(context) {
    const target = await targetToWipe(context);
    if (!target) return done();
    const { installation, provider, machine } = context.owner;
    const operation = uuidFromNames('release', installation, provider, machine, textFact(context, 'rescueBootId'));
    const root = { serial: textFact(context, 'rootSerial'), wwn: textFact(context, 'rootWwn') };
    return await runInVerifiedRescue(context, target.address, 'leftovers-armed', async (rescue) =>
      addErasedProof(toStepOutcome(await rescue.wipe(operation, [root]))),
    );
  },
};

const addErasedProof = (outcome: StepOutcome): StepOutcome =>
  outcome.kind === 'done' ? done({ ...outcome.facts, proof: 'erased' }) : outcome;

/**
 * Before: anything. After: nothing is armed, and the server has its former name, unless it has another owner by now.
 * Done when Robot confirms it.
 */
const nameRestored: Step<RobotStepContext> = {
  name: 'name-restored',
  run: (context) =>
    runOrWait(async () => {
      const host = isUntouchable(context) ? undefined : await findClaimedHost(context);
      if (!host || (await lostOwnershipReason(context, host))) return done();
      const robot = robotClientFor(context, context.hosts.servers);
      // A booted rescue system is disarmed already. The process may have ended before it recorded that it armed one.
      if (textFact(context, 'rescueHostKey') === '') await robot.disarmRescue(host.number, context);
      await robot.renameServer(host.number, textFact(context, 'formerName'), context);
      return done();
    }),
};

const describeGivenUp = ({ owner, facts }: RobotStepContext): string =>
  `Server ${facts['server'] ?? ''} could not be erased when Machine ${owner.machine} was deleted (${facts['approved']}): if it starts again, it runs the node of that Machine. Have it repaired. Then set spec.wipe to true, and remove this annotation: it can be claimed again, and is erased first.`;

/**
 * Before: it is proven that nothing of ours runs on the server, or it is dead. After: the Host and the address are released;
 * those of a dead server stay out of use.
 */
const hostReleased: Step<RobotStepContext> = {
  name: 'host-released',
  async run(context) {
    // Without a Host, which can be deleted meanwhile, the steps before this one do nothing.
    if (!isReleaseProven(context))
      return returnToStep('claim-checked', 5, 'There is no proof that the server was erased.');
    if (isGivenUp(context)) {
      await context.hosts.quarantine(describeGivenUp(context));
      return done();
    }
    await context.addresses.release();
    await context.hosts.release();
    return done();
  },
};

/** Releases the server and its Host, from any state. */
export const release: readonly Step<RobotStepContext>[] = [
  claimChecked,
  ...enterRescueSteps<RobotStepContext>(
    { armed: 'leftovers-armed', reset: 'leftovers-reset', entered: 'leftovers-reached' },
    targetToWipe,
  ),
  leftoversWiped,
  vswitchLeft,
  nameRestored,
  hostReleased,
].map((step) => ({ deadlineMinutes: 10, ...step }));
