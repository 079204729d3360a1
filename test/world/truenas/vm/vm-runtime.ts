import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineDescription } from '../../machine-runner/machine.ts';
import { CallError, errnos } from '../middleware/errors.ts';
import type { Entry } from '../middleware/query.ts';
import { type NasDevice, type NasState, type NasVm, type RunningGuest, sleepInWorldTime } from '../nas-state.ts';
import { existsOnNas, realPath, volumeSize, zvolName } from '../storage/dataset-files.ts';
import { availableBytes, requestedBytes } from '../system/memory-budget.ts';
import { sharesPort } from './device/display-ports.ts';

/** The states of a VM in the API. */
export type VmState = 'RUNNING' | 'STOPPED' | 'SUSPENDED' | 'ERROR';

/** The current state of a VM. */
export function vmStateOf(nas: NasState, vm: NasVm): VmState {
  if (!nas.hasKvm) return 'ERROR';
  if (!vm.guest) return 'STOPPED';
  return vm.guest.suspended ? 'SUSPENDED' : 'RUNNING';
}

/** Running or suspended. */
export const isRunningOrSuspended = (nas: NasState, vm: NasVm): boolean =>
  ['RUNNING', 'SUSPENDED'].includes(vmStateOf(nas, vm));
export const vmNameOf = (vm: NasVm): string => String(vm.row['name']);

/** The `status` of an entry. */
export function vmStatusOf(nas: NasState, vm: NasVm): Entry {
  const domain = { RUNNING: 'RUNNING', STOPPED: 'SHUTOFF', SUSPENDED: 'PAUSED', ERROR: 'ERROR' };
  const state = vmStateOf(nas, vm);
  return { state, pid: vm.guest?.pid ?? null, domain_state: domain[state] };
}

/** The devices of a VM as shown: a default order follows from the type. */
export function displayedOrder(device: NasDevice): number {
  if (device.order) return device.order;
  const dtype = device.attributes['dtype'];
  return dtype === 'CDROM' ? 1000 : dtype === 'DISK' ? 1001 : 1002;
}

/** A device as shown. */
export function describeDevice(device: NasDevice): Entry {
  return { id: device.id, attributes: { ...device.attributes }, vm: device.vm, order: displayedOrder(device) };
}

/** The devices of a VM, by number. */
export const devicesOf = (nas: NasState, vm: NasVm): NasDevice[] =>
  [...nas.devices.values()].filter((one) => one.vm === vm.id);

/** A VM as shown. */
export function describeVmEntry(nas: NasState, vm: NasVm): Entry {
  const devices = devicesOf(nas, vm);
  return {
    ...vm.row,
    devices: devices.map(describeDevice),
    display_available: devices.some((device) => device.attributes['dtype'] === 'DISPLAY'),
    id: vm.id,
    status: vmStatusOf(nas, vm),
  };
}

/** NetApp's prefix, which the middleware uses. */
export function randomMac(): string {
  const tail = [randomInt(0x80), randomInt(0x100), randomInt(0x100)];
  return ['00', 'a0', '98', ...tail.map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
}

/**
 * A libvirt event. Up to 25.10: no devices, raw state names, the event's name in `extra`, which is read out of the
 * wrong list (middleware: plugins/vm/events.py). From 26 on: the current entry, always as a change
 * (plugins/vm/event.py).
 */
function emitDomainEvent(nas: NasState, vm: NasVm, msg: 'added' | 'changed', state: string, event: string): void {
  const { devices, ...entry } = describeVmEntry(nas, vm);
  if (nas.version.plainDomainEvents) {
    nas.events.emit({ collection: 'vm.query', msg: 'changed', id: vm.id, fields: { ...entry, devices } });
    return;
  }
  const fields = { ...entry, status: { ...vmStatusOf(nas, vm), state } };
  nas.events.emit({ collection: 'vm.query', msg, id: vm.id, fields, extra: { state: event } });
}

/** Suspends or resumes a guest. */
export function emitSuspended(nas: NasState, vm: NasVm): void {
  const [state, event] = vm.guest?.suspended ? ['PAUSED', 'SUSPENDED'] : ['RUNNING', 'RESUMED'];
  emitDomainEvent(nas, vm, 'changed', state, event);
}

/** A domain is redefined before each start, up to 25.10 at creation, too. */
export const emitDefined = (nas: NasState, vm: NasVm): void => emitDomainEvent(nas, vm, 'added', 'SHUTOFF', 'NOSTATE');

/** Up to 25.10 a domain is undefined before each start and before its machine is deleted. */
export const emitUndefined = (nas: NasState, vm: NasVm): void =>
  emitDomainEvent(nas, vm, 'changed', 'UPDATING CONFIGURATION', 'RUNNING');

/** VMs whose start is in progress: libvirt refuses a concurrent start. */
const starting = new WeakSet<NasVm>();

/** Switches a VM on. Refuses it for the same reasons as the middleware and libvirt. */
export async function startVm(nas: NasState, vm: NasVm, overcommit: boolean): Promise<void> {
  const state = vmStateOf(nas, vm);
  const name = vmNameOf(vm);
  if (state === 'RUNNING' || starting.has(vm)) throw new CallError(`'${name}' is already running`);
  if (state === 'SUSPENDED') throw new CallError(`'${name}' VM is suspended and can only be resumed/powered off`);
  if (state === 'ERROR') throw new CallError('Failed to open libvirt connection');
  if (!overcommit && requestedBytes(vm) > availableBytes(nas))
    throw new CallError(`Cannot guarantee memory for guest ${name}`, errnos.ENOMEM);
  const devices = devicesOf(nas, vm).sort((a, b) => displayedOrder(a) - displayedOrder(b) || a.id - b.id);
  const unavailable = devices.filter((device) => !isDeviceBackingAvailable(nas, device));
  if (unavailable.length > 0) {
    const list = unavailable
      .map((device) => `${device.attributes['dtype']} Device: ${diskSerialOf(nas, device)}`)
      .join(', ');
    throw new CallError(`VM will not start as ${list} device(s) are not available.`);
  }
  if (!nas.version.plainDomainEvents) emitUndefined(nas, vm);
  emitDefined(nas, vm);
  starting.add(vm);
  await boot(nas, vm, devices).finally(() => starting.delete(vm));
  emitDomainEvent(nas, vm, 'changed', 'RUNNING', 'BLOCKED');
}

async function boot(nas: NasState, vm: NasVm, devices: readonly NasDevice[]): Promise<void> {
  const description = await describeMachine(nas, vm, devices);
  const machine = nas.runner.start(description);
  const guest: RunningGuest = {
    machine,
    pid: machine.pid ?? nas.nextId.pid++,
    suspended: false,
    memoryMiB: description.memoryMiB,
    paths: [...description.disks, ...description.cdroms].map(({ path }) => path),
  };
  vm.guest = guest;
  vm.lastStuck = undefined;
  machine.exited.then(
    () => handleGuestExit(nas, vm, guest),
    () => handleGuestExit(nas, vm, guest),
  );
}

function handleGuestExit(nas: NasState, vm: NasVm, guest: RunningGuest): void {
  if (vm.guest !== guest) return;
  vm.lastStuck = guest.machine.stuck;
  vm.guest = undefined;
  if (!nas.vms.has(vm.id)) return;
  emitDomainEvent(nas, vm, 'changed', 'SHUTOFF', 'SHUTOFF');
}

async function describeMachine(nas: NasState, vm: NasVm, devices: readonly NasDevice[]): Promise<MachineDescription> {
  const log = join(nas.folder, 'log');
  await mkdir(log, { recursive: true });
  const { row } = vm;
  const of = (...dtypes: string[]) => devices.filter(({ attributes }) => dtypes.includes(String(attributes['dtype'])));
  // libvirt gets one sequence over disks and CD-ROMs; NICs never get a boot index.
  const bootable = of('DISK', 'CDROM').map((device, index) => ({ device, order: index + 1 }));
  const isDisk = ({ device }: { device: NasDevice }) => device.attributes['dtype'] !== 'CDROM';
  return {
    name: `${vm.id}_${vmNameOf(vm)}`,
    uuid: String(row['uuid']),
    vcpus: Number(row['vcpus']) * Number(row['cores']) * Number(row['threads']),
    memoryMiB: Number(row['min_memory'] ?? row['memory']),
    firmware: row['bootloader'] === 'UEFI' ? 'uefi' : 'bios',
    cpuModel: row['cpu_mode'] === 'CUSTOM' ? ((row['cpu_model'] as string | null) ?? null) : 'host',
    disks: bootable.filter(isDisk).map(({ device, order }) => ({
      path: realPath(nas, String(device.attributes['path'])),
      sizeBytes: diskBytes(nas, device),
      serial: String(device.attributes['serial']),
      order,
      bus: device.attributes['type'] === 'VIRTIO' ? 'virtio' : 'sata',
    })),
    cdroms: bootable
      .filter((one) => !isDisk(one))
      .map(({ device, order }) => ({ path: realPath(nas, String(device.attributes['path'])), order })),
    nics: of('NIC').map(({ attributes }) =>
      withDhcpOffer(nas, {
        mac: String(attributes['mac'] ?? randomMac()),
        bridge: attachmentOf(nas, attributes),
        model: attributes['type'] === 'VIRTIO' ? 'virtio' : 'e1000',
      }),
    ),
    serialLog: join(log, `${vm.id}_${vmNameOf(vm)}.log`),
  };
}

type Nic = MachineDescription['nics'][number];

/** A NIC may send a DHCP request at any time, and may get another answer by then. */
const withDhcpOffer = (nas: NasState, card: Omit<Nic, 'dhcp'>): Nic => ({
  ...card,
  get dhcp() {
    return nas.dhcp.get(card.bridge)?.offer(card.mac);
  },
});

function diskBytes(nas: NasState, device: NasDevice): number {
  const zvol = nas.datasets.get(zvolName(String(device.attributes['path'])));
  return zvol ? volumeSize(zvol) : 0;
}

/** A NIC without an interface is attached to the one of the default route. */
function attachmentOf(nas: NasState, attributes: Entry): string {
  if (attributes['nic_attach']) return String(attributes['nic_attach']);
  const first = [...nas.links.values()].find((link) => link.address !== null);
  return first?.name ?? '';
}

function diskSerialOf(nas: NasState, device: NasDevice): string {
  return device.attributes['dtype'] === 'NIC'
    ? attachmentOf(nas, device.attributes)
    : String(device.attributes['path'] ?? device.attributes['dtype']);
}

/** Whether the backend of a device exists. */
export function isDeviceBackingAvailable(nas: NasState, device: NasDevice): boolean {
  const { dtype, path } = device.attributes;
  if (dtype === 'DISPLAY') return !sharesPort(nas, device);
  if (dtype === 'NIC') return nas.links.has(attachmentOf(nas, device.attributes));
  if (dtype === 'CDROM' || dtype === 'DISK') return existsOnNas(nas, String(path));
  return true;
}

/** The power switch. The guest is off when this returns. */
export async function killVm(nas: NasState, vm: NasVm): Promise<void> {
  const guest = vm.guest;
  if (!guest) return;
  guest.machine.kill();
  await guest.machine.exited.catch(() => undefined);
  handleGuestExit(nas, vm, guest);
}

/** Presses the ACPI button and checks every five seconds, until the machine is off or the timeout expires. */
export async function shutDownVm(nas: NasState, vm: NasVm, timeoutSeconds: number): Promise<void> {
  vm.guest?.machine.pressPowerButton();
  for (let left = timeoutSeconds; left > 0 && vmStateOf(nas, vm) === 'RUNNING'; left -= 5)
    await sleepInWorldTime(nas, 5);
}

/** Refuses unless the VM is in one of these states. */
export function requireVmState(nas: NasState, vm: NasVm, ...wanted: VmState[]): void {
  const state = vmStateOf(nas, vm);
  if (state === 'ERROR') throw new CallError(`Unable to determine '${vmNameOf(vm)}' VM state`);
  if (!wanted.includes(state)) throw new CallError(`VM state is currently not '${wanted.join(' / ')}'`);
}
