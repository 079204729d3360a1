import { fail, type StepOutcome } from '../../../../engine/platform.ts';
import type { Vm } from '../../api/schema.ts';
import type { MachineScope } from '../../resources/machine-scope.ts';

/**
 * Whether another virtual machine of the system has a card of one of these addresses: say, one that was cloned or restored. Both
 * would be unreachable at times. Ours follow from whose they are, so they are not drawn anew.
 */
export function failWhenMacTaken(
  system: MachineScope,
  vms: readonly Vm[],
  macs: readonly string[],
): StepOutcome | undefined {
  const cards = vms.flatMap(({ id, devices }) => devices.map(({ attributes }) => ({ vm: id, attributes })));
  const taken = cards.find(({ attributes }) => macs.includes(attributes.mac?.toLowerCase() ?? ''));
  if (!taken) return undefined;
  return fail(
    'MacTaken',
    `The virtual machine with number ${taken.vm} on ${system.nas.host} has a network card of the address ${taken.attributes.mac}, which is this machine's. Give that card another one, or remove it.`,
  );
}
