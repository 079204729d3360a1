import { fail, type StepOutcome } from '../../../engine/step.ts';
import type { ResetType, RobotClient } from '../api/client.ts';
import type { RobotHost } from '../hosts/robot-host.ts';
import { chooseResetType } from './choose-reset-type.ts';

/**
 * The type of a reset after which the server boots from its disk, after `earlier` attempts; or why there is none. Any
 * active boot configuration would be booted instead.
 */
export async function chooseDiskBootReset(
  robot: RobotClient,
  { number, platformSpec }: RobotHost,
  { earlier, signal }: { readonly earlier: number; readonly signal: AbortSignal },
): Promise<{ readonly type: ResetType } | { readonly refused: StepOutcome }> {
  const boot = await robot.getBoot(number, { signal });
  const armed = [...boot.armedInstallers, ...(boot.rescue?.active ? ['rescue'] : [])];
  if (armed.length > 0) {
    const message = `The boot configuration ${armed.join(', ')} is active in Robot and would be booted. Deactivate it.`;
    return { refused: fail('InstallerArmed', message) };
  }
  const { types, power } = await robot.getReset(number, { signal });
  const type = chooseResetType(platformSpec.resetTypes, types, power, earlier);
  if (type) return { type };
  return { refused: fail('NoReset', `The only reset types of the server are ${types.join(', ')}.`) };
}
