import { fail, type StepOutcome } from '../../../engine/step.ts';
import type { RobotClient } from '../api/client.ts';
import { robotKeyFingerprint } from '../api/key-fingerprint.ts';
import { rescueSshKey } from '../context.ts';
import { hasCode } from '../errors.ts';
import { publicKeyOf } from '../rescue/connect.ts';
import type { RescueContext } from './run-in-rescue.ts';

/** Checks all boot configurations first: any other armed one erases the server at its next boot. */
export async function ensureRescueArmed(
  context: RescueContext,
  robot: RobotClient,
  number: number,
): Promise<StepOutcome | undefined> {
  const { signal } = context;
  const ours = robotKeyFingerprint(publicKeyOf(rescueSshKey(context)));
  const boot = await robot.getBoot(number, { signal });
  if (boot.armedInstallers.length > 0) return failInstallerArmed(number, boot.armedInstallers);
  if (!boot.rescue) return fail('NoRescue', `Server ${number} has no rescue system in Robot. Contact Hetzner.`);
  if (boot.rescue.active && boot.rescue.fingerprints.includes(ours)) return undefined;
  // Rescue is armed with another key, so our login would be refused.
  if (boot.rescue.active) await robot.disarmRescue(number, { signal });
  await armRescueWithKey(context, robot, number);
  return undefined;
}

/** The next boot of the server would erase it. */
export const failInstallerArmed = (server: number, installers: readonly string[]): StepOutcome =>
  fail(
    'InstallerArmed',
    `An installation (${installers.join(', ')}) is active for server ${server} and would erase it. Cancel it in Robot.`,
  );

/** Skips the check: Robot arms one configuration at a time, so while rescue is armed no installer is. */
export async function armRescueUnchecked(
  context: RescueContext,
  robot: RobotClient,
  number: number,
): Promise<StepOutcome | undefined> {
  try {
    await armRescueWithKey(context, robot, number);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'ROBOT_BOOT_ALREADY_ACTIVE')) throw error;
    return await ensureRescueArmed(context, robot, number);
  }
}

async function armRescueWithKey(context: RescueContext, robot: RobotClient, number: number): Promise<void> {
  const { signal } = context;
  const publicKey = publicKeyOf(rescueSshKey(context));
  const fingerprints = [robotKeyFingerprint(publicKey)];
  try {
    await robot.armRescue(number, fingerprints, { signal });
  } catch (error) {
    if (!hasCode(error, 'ROBOT_REFUSED', 'ROBOT_NOT_FOUND')) throw error;
    // The account does not have the key yet.
    await robot.addKey(sshKeyName, publicKey, { signal });
    await robot.armRescue(number, fingerprints, { signal });
  }
}

const sshKeyName = 'cluster-provider-talos';
