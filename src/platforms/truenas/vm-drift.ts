import type { Drift } from '../../engine/platform.ts';
import { firstToBoot } from './machine.ts';
import type { Vm } from './schema.ts';
import { drift } from './storage-drift.ts';
import type { System } from './system.ts';

/** How a virtual machine differs from the one that was made. */
export function vmDrift(vm: Vm, system: System, bridge: string): Drift[] {
  return [
    ...stateDrift(vm, system),
    ...diskDrift(vm, system),
    ...cardDrift(vm, system, bridge),
    ...settingsDrift(vm, system),
  ];
}

function stateDrift({ name, status: { state } }: Vm, { nas }: System): Drift[] {
  if (state === 'RUNNING') return [];
  if (state === 'STOPPED') return [drift('PoweredOff', 'The machine is powered off.')];
  if (state === 'SUSPENDED') return [drift('Suspended', 'The virtual machine is suspended.')];
  const message = `TrueNAS cannot tell the state of the virtual machine (${state}). See the log of libvirt for ${name} on ${nas.host}.`;
  return [drift('StateUnknown', message)];
}

function diskDrift({ devices }: Vm, { identity }: System): Drift[] {
  const disk = `/dev/zvol/${identity.zvol}`;
  if (!devices.some(({ attributes }) => attributes.path === disk))
    return [drift('DeviceMissing', `Its boot disk ${disk} is not attached.`)];
  const first = firstToBoot(devices);
  if (first === disk) return [];
  return [drift('BootOrder', `It would boot from ${first} before its disk. Give that device an order above 1501.`)];
}

function cardDrift({ devices }: Vm, { identity }: System, bridge: string): Drift[] {
  const card = devices.find(({ attributes }) => attributes.mac?.toLowerCase() === identity.mac);
  if (!card)
    return [drift('DeviceMissing', `Its network card is missing or has another MAC address than ${identity.mac}.`)];
  const at = card.attributes.nic_attach ?? 'nothing';
  return at === bridge ? [] : [drift('CardMoved', `Its network card is attached to ${at} and not to ${bridge}.`)];
}

function settingsDrift({ name }: Vm, { identity }: System): Drift[] {
  if (name === identity.vmName) return [];
  const message = `The virtual machine was renamed from ${identity.vmName} to ${name}; it is known by its UUID.`;
  return [drift('Renamed', message, { minor: true })];
}
