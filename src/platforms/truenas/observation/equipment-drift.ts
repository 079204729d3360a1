import type { Drift } from '../../../engine/observation.ts';
import type { Vm } from '../api/schema.ts';
import { additionalCardsOf } from '../config/cards.ts';
import { displayAttributes, displayPasswordOf, hasDisplay } from '../config/display.ts';
import type { MachineScope, TrueNasStepContext } from '../resources/machine-scope.ts';
import { drift } from './drift.ts';
import { moveBackRepair, reattachRepair } from './vm-drift.ts';

type EquipmentContext = Pick<TrueNasStepContext, 'config' | 'credentials' | 'facts' | 'node'>;

/** Drift of equipment other than disks and the first network card. */
export function equipmentDrift(vm: Vm, system: MachineScope, context: EquipmentContext): Drift[] {
  return [...additionalCardDrift(vm, system, context), ...displayDrift(vm, context)];
}

function additionalCardDrift(vm: Vm, { identity }: MachineScope, context: EquipmentContext): Drift[] {
  return additionalCardsOf(context, identity).flatMap(({ mac, bridge }, index): Drift[] => {
    const which = `network card ${index + 2}`;
    const card = vm.devices.find(({ attributes }) => attributes.mac?.toLowerCase() === mac);
    if (!card) {
      const message = `The ${which} at ${bridge} is missing, or does not have the MAC address ${mac}.`;
      return [drift('DeviceMissing', message, reattachRepair(vm))];
    }
    const at = card.attributes.nic_attach ?? 'nothing';
    if (at === bridge) return [];
    return [drift('CardMoved', `The ${which} is attached to ${at} and not to ${bridge}.`, moveBackRepair)];
  });
}

/** Nodes do not need a display. Another port or password than at creation is taken as intended. */
function displayDrift(vm: Vm, context: EquipmentContext): Drift[] {
  const isDisplay = ({ attributes: { dtype, type } }: Vm['devices'][number]) =>
    dtype === displayAttributes.dtype && type === displayAttributes.type;
  if (!hasDisplay(context) || vm.devices.some(isDisplay)) return [];
  const message = 'The display is missing.';
  if (displayPasswordOf(context.credentials) !== '')
    return [drift('DisplayMissing', message, { isMinor: true, ...reattachRepair(vm) })];
  const unmet = `Secret ${context.config.credentialsRef.name} has no key displayPassword for a new one.`;
  return [drift('DisplayMissing', `${message} ${unmet}`, { isMinor: true })];
}
