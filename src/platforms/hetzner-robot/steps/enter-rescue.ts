import type { HostClaim } from '../../../engine/host.ts';
import { done, type Facts, fail, type Step, type StepOutcome, wait } from '../../../engine/step.ts';
import type { ClusterNodeClient } from '../../../engine/talos-clients.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { robotClientFor, secondsSince } from '../context.ts';
import { rescueMismatch } from '../rescue/rescue-client.ts';
import { armRescueUnchecked, ensureRescueArmed, failInstallerArmed } from './arm-rescue.ts';
import { type ResetTarget, resetServer } from './reset-server.ts';
import { isRescueUnreachable, type RescueContext, runInRescue } from './run-in-rescue.ts';
import { runOrWait } from './run-or-wait.ts';

/** The server that has to enter its rescue system. */
export interface RescueTarget extends ResetTarget {
  readonly address: string;
  /** MAC addresses of all cards, from an earlier inspection; empty: not known yet. */
  readonly macs: readonly string[];
  readonly servers: HostClaim['servers'];
  /** This machine has written to its disks, so it holds no foreign data. */
  readonly isOurs: boolean;
  /** The node on the server, if it may be rebooted. A reboot does not use the account's hourly resets. */
  readonly node?: ClusterNodeClient;
}

/**
 * A reset counts as without effect when rescue is still armed after this time: self test and network boot take a
 * minute.
 */
const resetTimeoutSeconds = 180;
/** The same for a reboot by the node, which first stops its workloads for two minutes at most. */
const rebootTimeoutSeconds = 300;
/** Robot disarms rescue after an hour, whether it was booted or not. */
const armedLifetimeSeconds = 3300;
/** From a reset until rescue answers; the slowest boards need four minutes. */
const bootTimeoutSeconds = 600;
/** Maximum number of resets in a row. */
const maxResets = 3;

/**
 * Three steps from any state of a server into its rescue system: armed, reset, entered. Nothing is written to a disk.
 * `find` returns the server, or undefined where nothing has to be done. The names of the steps are part of our API.
 */
export function enterRescueSteps<C extends RescueContext>(
  names: { readonly armed: string; readonly reset: string; readonly entered: string },
  find: (context: C) => Promise<RescueTarget | undefined>,
): readonly Step<C>[] {
  const step = (name: string, run: (context: C, target: RescueTarget) => Promise<StepOutcome>): Step<C> => ({
    name,
    run: (context) =>
      runOrWait(async () => {
        const target = await find(context);
        return target ? await run(context, target) : done();
      }),
  });
  return [
    step(names.armed, armRescue),
    step(names.reset, resetIntoRescue),
    { ...step(names.entered, verifyRescue), deadlineMinutes: 20 },
  ];
}

/** Done when rescue is armed with our key. Facts of an earlier rescue system are cleared. */
async function armRescue(context: RescueContext, { host, servers, isOurs, node }: RescueTarget): Promise<StepOutcome> {
  const robot = robotClientFor(context, servers);
  const rescueByNode = (await node?.answers()) ?? false;
  // Rescue would be disarmed while its server waits for a reset.
  if (!rescueByNode) robot.checkResetBudget(host.number);
  const arm = isOurs ? armRescueUnchecked : ensureRescueArmed;
  const refused = await arm(context, robot, host.number);
  if (refused) return refused;
  const rescueArmedAt = context.clock.now().toISOString();
  return done({
    ...{ rescueArmedAt, rescueByNode, rescueResetAt: '', rescueResets: 0 },
    ...{ rescueHostKey: '', rescueBootId: '' },
  });
}

/**
 * Done when the server was reset since rescue was armed, or its node has accepted a reboot. When rescue is not armed
 * any more, it was booted and no reset follows. A second reboot request to the node, after an unknown outcome, is
 * harmless.
 */
async function resetIntoRescue(context: RescueContext, target: RescueTarget): Promise<StepOutcome> {
  const robot = robotClientFor(context, target.servers);
  const node = context.facts['rescueByNode'] === true ? target.node : undefined;
  if (!node) robot.checkResetBudget(target.host.number);
  const armedFor = secondsSince(context, 'rescueArmedAt') ?? armedLifetimeSeconds;
  // Rescue was armed within the last seconds, so no other configuration can be armed.
  if (armedFor >= 10) {
    const boot = await robot.getBoot(target.host.number, { signal: context.signal });
    if (boot.armedInstallers.length > 0) return failInstallerArmed(target.host.number, boot.armedInstallers);
    const isUsed = boot.rescue?.active === false;
    if (isUsed && armedFor < armedLifetimeSeconds)
      return done({ rescueResetAt: context.clock.now().toISOString(), rescueResets: 1 });
    const refused = isUsed ? await ensureRescueArmed(context, robot, target.host.number) : undefined;
    if (refused) return refused;
  }
  if (node) return await rebootNode(context, node);
  const refused = await resetServer(context, robot, target, 0);
  return refused ?? done({ rescueResetAt: context.clock.now().toISOString(), rescueResets: 1 });
}

/** Done when the node has accepted the reboot. Otherwise the server is reset. */
async function rebootNode(context: RescueContext, node: ClusterNodeClient): Promise<StepOutcome> {
  try {
    await node.restart();
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return wait(1, `The node does not reboot on request, so its server is reset. ${error.message}`, {
      rescueByNode: false,
    });
  }
  return done({ rescueResetAt: context.clock.now().toISOString(), rescueResets: 0 });
}

/**
 * Done when the system that answers is proven to be the rescue system of this server, booted by our reset. Its host key
 * is pinned.
 */
async function verifyRescue(context: RescueContext, target: RescueTarget): Promise<StepOutcome> {
  const seconds = secondsSince(context, 'rescueResetAt') ?? 0;
  let why: string;
  try {
    const outcome = await runInRescue(context, target.address, async (rescue) => {
      const identity = await rescue.identify();
      const mismatch =
        rescueMismatch(identity, { maxUptimeSeconds: seconds + 30 }) ?? wrongServerReason(target, identity.mac);
      if (mismatch !== undefined) return mismatch;
      const { bootId, mac, gateway, firmware } = identity;
      return { rescueHostKey: rescue.hostKey, rescueBootId: bootId, mac, gateway, firmware } satisfies Facts;
    });
    if (typeof outcome !== 'string') return done(outcome);
    why = outcome;
  } catch (error) {
    if (!isRescueUnreachable(error)) throw error;
    why = (error as Error).message;
  }
  const timeoutSeconds = context.facts['rescueResets'] === 0 ? rebootTimeoutSeconds : resetTimeoutSeconds;
  if (seconds < timeoutSeconds) return wait(10, `The rescue system is starting. ${why}`);
  return await retryReset(context, target, seconds, why);
}

const wrongServerReason = ({ macs, address }: RescueTarget, mac: string): string | undefined =>
  macs.length === 0 || macs.includes(mac)
    ? undefined
    : `The server at ${address} has the network card ${mac}, which is not in the status of its Host.`;

/**
 * Rescue takes too long. Still armed: the reset or reboot had no effect. Not armed: rescue hangs, or another system
 * answers.
 */
async function retryReset(
  context: RescueContext,
  target: RescueTarget,
  seconds: number,
  why: string,
): Promise<StepOutcome> {
  const robot = robotClientFor(context, target.servers);
  const { number } = target.host;
  if (seconds < bootTimeoutSeconds) {
    const { active } = await robot.getRescue(number, { signal: context.signal });
    if (!active) return wait(45, `The rescue system was loaded and does not answer yet. ${why}`);
  }
  const resets = Number(context.facts['rescueResets'] ?? 1);
  if (resets >= maxResets) {
    return fail(
      'RescueSilent',
      `Server ${number} does not boot its rescue system after ${resets} resets. Network boot must be first in the boot order of its firmware. ${why}`,
    );
  }
  const refused =
    (await ensureRescueArmed(context, robot, target.host.number)) ??
    (await resetServer(context, robot, target, resets));
  if (refused) return refused;
  const facts = { rescueResetAt: context.clock.now().toISOString(), rescueResets: resets + 1 };
  return wait(30, `The rescue system did not boot; the server was reset again. ${why}`, facts);
}
