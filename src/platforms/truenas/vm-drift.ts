import type { Drift } from '../../engine/observation.ts';
import type { Facts, NodeSpec } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { isAgreedStop } from './agreed-stop.ts';
import { drift } from './drift.ts';
import { withMetadata } from './identity.ts';
import { firstToBoot } from './machine.ts';
import type { Vm } from './schema.ts';
import type { System } from './system.ts';

type Mend = NonNullable<Drift['mend']>;
const byItself = (how: string): Mend => ({ when: 'by-itself', how });
const whenAgreed = (how: string): Mend => ({ when: 'when-agreed', how });
const stops = 'it is shut down, that is put right, and it is started again';
/** A member that runs is never stopped without being asked to. */
export const reattach = ({ status: { state } }: Vm): Partial<Drift> => ({
  mend: state === 'STOPPED' ? byItself('it is attached again') : whenAgreed(stops),
});

export const movedBack: Partial<Drift> = { byConfig: true, mend: whenAgreed(stops) };

interface Subject {
  readonly config: { readonly bridge: string };
  readonly facts: Facts;
  readonly clock: Pick<Clock, 'now'>;
  readonly node: Pick<NodeSpec, 'cluster' | 'role' | 'labels'>;
}

/** How a virtual machine differs from the one that was made. */
export function vmDrift(vm: Vm, system: System, context: Subject): Drift[] {
  return [
    ...stateDrift(vm, system, context),
    ...diskDrift(vm, system),
    ...cardDrift(vm, system, context.config.bridge),
    ...settingsDrift(vm, system, context),
  ];
}

/** Whether the description tells the metadata that the machine has now. */
const isDescribed = ({ description }: Vm, node: Subject['node']): boolean =>
  !description || withMetadata(description, node) === description.trimEnd();

function stateDrift({ name, status: { state } }: Vm, { nas }: System, { facts, clock }: Subject): Drift[] {
  if (state === 'RUNNING') return [];
  if (state === 'STOPPED') {
    // It was stopped for something that people agreed to, which ends with its start.
    const begun = isAgreedStop(facts, clock) ? { begun: true as const } : {};
    return [
      drift('PoweredOff', 'The machine is powered off.', { mend: { ...byItself('it is started again'), ...begun } }),
    ];
  }
  if (state === 'SUSPENDED')
    return [drift('Suspended', 'The virtual machine is suspended.', { mend: whenAgreed('it is resumed') })];
  const message = `TrueNAS cannot tell the state of the virtual machine (${state}). See the log of libvirt for ${name} on ${nas.host}.`;
  return [drift('StateUnknown', message)];
}

function diskDrift(vm: Vm, { identity }: System): Drift[] {
  const { devices } = vm;
  const disk = `/dev/zvol/${identity.zvol}`;
  if (!devices.some(({ attributes }) => attributes.path === disk))
    return [drift('DeviceMissing', `Its boot disk ${disk} is not attached.`, reattach(vm))];
  const first = firstToBoot(devices);
  if (first === disk) return [];
  return [drift('BootOrder', `It would boot from ${first} before its disk. Give that device an order above 1501.`)];
}

function cardDrift(vm: Vm, { identity }: System, bridge: string): Drift[] {
  const card = vm.devices.find(({ attributes }) => attributes.mac?.toLowerCase() === identity.mac);
  if (!card)
    return [
      drift(
        'DeviceMissing',
        `Its network card is missing or has another MAC address than ${identity.mac}.`,
        reattach(vm),
      ),
    ];
  const at = card.attributes.nic_attach ?? 'nothing';
  return at === bridge
    ? []
    : [drift('CardMoved', `Its network card is attached to ${at} and not to ${bridge}.`, movedBack)];
}

function settingsDrift(vm: Vm, { identity }: System, { node }: Subject): Drift[] {
  const { name, suspend_on_snapshot: paused } = vm;
  const named = `The virtual machine was renamed from ${identity.vmName} to ${name}; it is known by its UUID.`;
  const outdated = 'The description of the virtual machine does not tell the labels and annotations of the Cluster.';
  const pauses =
    'It stands still whenever a snapshot of its disk is taken: an update of TrueNAS, or somebody, set that.';
  return [
    ...(name === identity.vmName ? [] : [drift('Renamed', named, { minor: true })]),
    ...(isDescribed(vm, node)
      ? []
      : [drift('MetadataDiffers', outdated, { minor: true, mend: byItself('it is written anew') })]),
    ...(paused ? [drift('PausesForSnapshots', pauses, { minor: true, mend: byItself('that is switched off') })] : []),
  ];
}
