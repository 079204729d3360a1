import type { Drift } from '../../engine/observation.ts';
import { cardsOf } from './cards.ts';
import { displayAttributes, hasDisplay, passwordOf } from './display.ts';
import { drift } from './drift.ts';
import type { Vm } from './schema.ts';
import type { Context, System } from './system.ts';
import { movedBack, reattach } from './vm-drift.ts';

type Subject = Pick<Context, 'config' | 'credentials' | 'facts' | 'node'>;

/** What has become of what a machine was made with beside the disks and the first card. */
export function equipmentDrift(vm: Vm, system: System, context: Subject): Drift[] {
  return [...furtherCardDrift(vm, system, context), ...displayDrift(vm, context)];
}

function furtherCardDrift(vm: Vm, { identity }: System, context: Subject): Drift[] {
  return cardsOf(context, identity).flatMap(({ mac, bridge }, index): Drift[] => {
    const which = `network card ${index + 2}`;
    const card = vm.devices.find(({ attributes }) => attributes.mac?.toLowerCase() === mac);
    if (!card) {
      const message = `Its ${which}, at ${bridge}, is missing or has another MAC address than ${mac}.`;
      return [drift('DeviceMissing', message, reattach(vm))];
    }
    const at = card.attributes.nic_attach ?? 'nothing';
    if (at === bridge) return [];
    return [drift('CardMoved', `Its ${which} is attached to ${at} and not to ${bridge}.`, movedBack)];
  });
}

/** Nodes do not need it. One that has other ports or another password than it was made with is as somebody wants it. */
function displayDrift(vm: Vm, context: Subject): Drift[] {
  const isDisplay = ({ attributes: { dtype, type } }: Vm['devices'][number]) =>
    dtype === displayAttributes.dtype && type === displayAttributes.type;
  if (!hasDisplay(context) || vm.devices.some(isDisplay)) return [];
  const message = 'Its display is missing.';
  if (passwordOf(context.credentials) !== '')
    return [drift('DisplayMissing', message, { minor: true, ...reattach(vm) })];
  const lacks = `Secret ${context.config.credentialsRef.name} has no password for another (displayPassword).`;
  return [drift('DisplayMissing', `${message} ${lacks}`, { minor: true })];
}
