import type { HostView } from '../../engine/host.ts';
import { fail, type Outcome } from '../../engine/platform.ts';
import { sshKeyOf } from './ground.ts';
import { publicKeyOf } from './rescue/connect.ts';
import type { Robot } from './robot/client.ts';
import { hasCode } from './robot/errors.ts';
import { fingerprintOf } from './robot/fingerprint.ts';
import type { RescueGround } from './session.ts';

/** Looks at all boot configurations first: whatever else is armed erases the server when it starts. */
export async function ensureArmed(ground: RescueGround, robot: Robot, host: HostView): Promise<Outcome | undefined> {
  const { signal } = ground;
  const { serverNumber } = host.spec;
  const ours = fingerprintOf(publicKeyOf(sshKeyOf(ground)));
  const boot = await robot.getBoot(serverNumber, { signal });
  if (boot.armedInstallers.length > 0) return failArmed(serverNumber, boot.armedInstallers);
  if (!boot.rescue)
    return fail('NoRescue', `Server ${serverNumber} has no rescue system in Robot. Ask Hetzner for it.`);
  if (boot.rescue.active && boot.rescue.fingerprints.includes(ours)) return undefined;
  // Somebody armed it with another key, and none of ours would be let in.
  if (boot.rescue.active) await robot.disarmRescue(serverNumber, { signal });
  await armWithKey(ground, robot, serverNumber);
  return undefined;
}

/** The next start of the server would erase it. */
export const failArmed = (server: number, installers: readonly string[]): Outcome =>
  fail(
    'InstallerArmed',
    `An installation (${installers.join(', ')}) is armed for server ${server} and would erase it. Cancel it in Robot.`,
  );

/** Robot arms one thing at a time: with rescue armed, nothing else is. */
export async function armAnyway(ground: RescueGround, robot: Robot, host: HostView): Promise<Outcome | undefined> {
  try {
    await armWithKey(ground, robot, host.spec.serverNumber);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'ROBOT_BOOT_ALREADY_ACTIVE')) throw error;
    return await ensureArmed(ground, robot, host);
  }
}

async function armWithKey(ground: RescueGround, robot: Robot, serverNumber: number): Promise<void> {
  const { signal } = ground;
  const publicKey = publicKeyOf(sshKeyOf(ground));
  const fingerprints = [fingerprintOf(publicKey)];
  try {
    await robot.armRescue(serverNumber, fingerprints, { signal });
  } catch (error) {
    if (!hasCode(error, 'ROBOT_REFUSED', 'ROBOT_NOT_FOUND')) throw error;
    // The account does not know the key yet.
    await robot.addKey(keyName, publicKey, { signal });
    await robot.armRescue(serverNumber, fingerprints, { signal });
  }
}

const keyName = 'cluster-provider-talos';
