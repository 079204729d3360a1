import type { ResetType } from '../api/client.ts';
import type { ResetInfo } from '../api/schema.ts';

/**
 * Chooses the reset type after `earlier` attempts; undefined: no type that this provider may request. `power` presses
 * the power button: it starts a server that is off, but would switch a running one off. A reset has no effect on a
 * server that is off.
 */
export function chooseResetType(
  preferred: readonly ResetType[],
  offered: readonly string[],
  power: ResetInfo['power'],
  earlier: number,
): ResetType | undefined {
  const able = preferred.filter((type) => offered.includes(type));
  if (power === 'off' && offered.includes('power')) return 'power';
  const resets = able.filter((type) => type === 'hw' || type === 'sw');
  const choice = resets.length > 0 ? resets : able;
  return choice[earlier % Math.max(1, choice.length)];
}
