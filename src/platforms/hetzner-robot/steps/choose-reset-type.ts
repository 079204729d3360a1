import type { ResetType } from '../api/client.ts';
import type { ResetInfo } from '../api/schema.ts';

/**
 * How to reset a server after `earlier` attempts; undefined: in no way that a program may use. `power` presses the button: it
 * starts a server that is off, and takes one down that runs, which nobody wants. On a server that is off a reset does nothing.
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
