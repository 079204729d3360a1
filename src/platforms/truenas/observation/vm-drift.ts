import type { NodeSpec } from '../../../engine/node.ts';
import type { Drift } from '../../../engine/observation.ts';
import type { Facts } from '../../../engine/step.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Vm } from '../api/schema.ts';
import { withMetadata } from '../resources/identity.ts';
import type { MachineScope } from '../resources/machine-scope.ts';
import { isApprovedStop } from '../resources/vm/approved-stop.ts';
import { firstBootPath } from '../resources/vm/desired-vm.ts';
import { isOffForHardware } from '../steps/hardware/hardware-facts.ts';
import { drift } from './drift.ts';

type DriftRepair = NonNullable<Drift['repair']>;
const automaticRepair = (how: string): DriftRepair => ({ mode: 'automatic', effect: how });
const approvedRepair = (how: string): DriftRepair => ({ mode: 'with-approval', effect: how });
const stopAndRestart = 'it is shut down, repaired and started again';
/** A running member is never stopped without an approval. */
export const reattachRepair = ({ status: { state } }: Vm): Partial<Drift> => ({
  repair: state === 'STOPPED' ? automaticRepair('it is attached again') : approvedRepair(stopAndRestart),
});

export const moveBackRepair: Partial<Drift> = { byConfig: true, repair: approvedRepair(stopAndRestart) };

interface VmDriftContext {
  readonly config: { readonly bridge: string };
  readonly facts: Facts;
  readonly clock: Pick<Clock, 'now'>;
  readonly node: Pick<NodeSpec, 'cluster' | 'role' | 'labels'>;
}

/** Differences between a virtual machine and its desired state. */
export function vmDrift(vm: Vm, system: MachineScope, context: VmDriftContext): Drift[] {
  return [
    ...stateDrift(vm, system, context),
    ...bootDiskDrift(vm, system),
    ...firstCardDrift(vm, system, context.config.bridge),
    ...settingsDrift(vm, system, context),
  ];
}

/** True when the description has the machine's current metadata. */
const hasCurrentMetadata = ({ description }: Vm, node: VmDriftContext['node']): boolean =>
  !description || withMetadata(description, node) === description.trimEnd();

function stateDrift({ name, status: { state } }: Vm, { nas }: MachineScope, { facts, clock }: VmDriftContext): Drift[] {
  if (state === 'RUNNING') return [];
  if (state === 'STOPPED') {
    // It was stopped for an approved repair, which ends with its start.
    const started = isApprovedStop(facts, clock) ? { isStarted: true as const } : {};
    const repair = { ...automaticRepair('it is started again'), ...started };
    // The update that has switched it off starts it again.
    if (isOffForHardware(facts))
      return [
        drift('PoweredOff', 'The machine is off while its hardware is changed.', {
          repair: { ...repair, isDeferred: true },
        }),
      ];
    return [drift('PoweredOff', 'The machine is powered off.', { repair })];
  }
  if (state === 'SUSPENDED')
    return [drift('Suspended', 'The virtual machine is suspended.', { repair: approvedRepair('it is resumed') })];
  const message = `TrueNAS reports the state ${state} for the virtual machine. See the libvirt log of ${name} on ${nas.host}.`;
  return [drift('StateUnknown', message)];
}

function bootDiskDrift(vm: Vm, { identity }: MachineScope): Drift[] {
  const { devices } = vm;
  const disk = `/dev/zvol/${identity.zvol}`;
  if (!devices.some(({ attributes }) => attributes.path === disk))
    return [drift('DeviceMissing', `The boot disk ${disk} is not attached.`, reattachRepair(vm))];
  const first = firstBootPath(devices);
  if (first === disk) return [];
  return [
    drift(
      'BootOrder',
      `The virtual machine would boot from ${first} before its disk. Set the order of that device above 1501.`,
    ),
  ];
}

function firstCardDrift(vm: Vm, { identity }: MachineScope, bridge: string): Drift[] {
  const card = vm.devices.find(({ attributes }) => attributes.mac?.toLowerCase() === identity.mac);
  if (!card)
    return [
      drift(
        'DeviceMissing',
        `The network card is missing, or does not have the MAC address ${identity.mac}.`,
        reattachRepair(vm),
      ),
    ];
  const at = card.attributes.nic_attach ?? 'nothing';
  return at === bridge
    ? []
    : [drift('CardMoved', `The network card is attached to ${at} and not to ${bridge}.`, moveBackRepair)];
}

function settingsDrift(vm: Vm, { identity }: MachineScope, { node }: VmDriftContext): Drift[] {
  const { name, suspend_on_snapshot: paused } = vm;
  const named = `The virtual machine was renamed from ${identity.vmName} to ${name}; it is known by its UUID.`;
  const outdated = 'The description of the virtual machine does not have the labels and annotations of the Cluster.';
  const pauses =
    'The virtual machine is suspended during snapshots of its disk: an update of TrueNAS or a user enabled that.';
  return [
    ...(name === identity.vmName ? [] : [drift('Renamed', named, { isMinor: true })]),
    ...(hasCurrentMetadata(vm, node)
      ? []
      : [drift('MetadataDiffers', outdated, { isMinor: true, repair: automaticRepair('it is updated') })]),
    ...(paused
      ? [drift('PausesForSnapshots', pauses, { isMinor: true, repair: automaticRepair('that is disabled') })]
      : []),
  ];
}
