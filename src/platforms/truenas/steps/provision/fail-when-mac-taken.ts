import { fail, type StepOutcome } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import type { MachineScope } from '../../resources/machine-scope.ts';

/**
 * Fails when another virtual machine of the system has one of these MAC addresses, e.g. a clone or a restored one. Both
 * would be unreachable at times. Our addresses follow from the owner, so they cannot be changed.
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
    `The virtual machine with number ${taken.vm} on ${system.nas.host} has a network card with the MAC address ${taken.attributes.mac} of this machine. Change the MAC address of that card, or remove it.`,
  );
}
