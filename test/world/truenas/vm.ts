import { randomUUID } from 'node:crypto';
import { CallError, errnos, matchNotFound, notFound, Refusals } from './errors.ts';
import {
  availableBytes,
  describeVm,
  devicesOf,
  isActive,
  killVm,
  nameOf,
  randomMac,
  requestedBytes,
  requireState,
  shutDownVm,
  startVm,
  stateOf,
  statusOf,
  tellDefined,
} from './machines.ts';
import type { Context, Method } from './method.ts';
import {
  bool,
  integer,
  type Model,
  nonEmpty,
  nullable,
  object,
  oneOf,
  type Parameter,
  partial,
  required,
  text,
  where,
  withDefault,
} from './model.ts';
import { type Nas, pause, type Vm } from './nas.ts';
import { destroyTree, isBusy } from './pool-dataset.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from './query.ts';
import { zvolName } from './storage.ts';

const maximumVcpus = 255;
const firmwares = ['OVMF_CODE.fd', 'OVMF_CODE.secboot.fd', 'OVMF_CODE_4M.fd', 'OVMF_CODE_4M.secboot.fd'];
const cpuModels = [
  'qemu64',
  'kvm64',
  'Nehalem',
  'Westmere',
  'SandyBridge',
  'Haswell',
  'Skylake-Server',
  'EPYC',
  'EPYC-Rome',
];
const machines: Readonly<Record<string, readonly string[]>> = {
  i686: ['pc', 'q35', 'pc-q35-6.2'],
  x86_64: ['pc', 'q35', 'pc-i440fx-7.2', 'pc-q35-6.2', 'pc-q35-7.2'],
};

const uuid: Model = where(
  text(),
  (value) => value === undefined || /^[0-9a-f]{32}$/i.test(String(value).replaceAll(/urn:|uuid:|[-{}]/g, '')),
  'UUID is not valid version 4',
);
const vmCreate = object({
  command_line_args: withDefault(text(), ''),
  cpu_mode: withDefault(oneOf('CUSTOM', 'HOST-MODEL', 'HOST-PASSTHROUGH'), 'CUSTOM'),
  cpu_model: withDefault(nullable(text()), null),
  name: required(nonEmpty),
  description: withDefault(text(), ''),
  vcpus: withDefault(integer({ min: 1 }), 1),
  cores: withDefault(integer({ min: 1 }), 1),
  threads: withDefault(integer({ min: 1 }), 1),
  cpuset: withDefault(nullable(text()), null),
  nodeset: withDefault(nullable(text()), null),
  enable_cpu_topology_extension: withDefault(bool, false),
  pin_vcpus: withDefault(bool, false),
  suspend_on_snapshot: withDefault(bool, null),
  trusted_platform_module: withDefault(bool, false),
  memory: required(integer({ min: 20 })),
  min_memory: withDefault(nullable(integer({ min: 20 })), null),
  hyperv_enlightenments: withDefault(bool, false),
  bootloader: withDefault(oneOf('UEFI_CSM', 'UEFI'), 'UEFI'),
  bootloader_ovmf: withDefault(nullable(text()), null),
  autostart: withDefault(bool, true),
  hide_from_msr: withDefault(bool, false),
  ensure_display_device: withDefault(bool, true),
  time: withDefault(oneOf('LOCAL', 'UTC'), 'LOCAL'),
  shutdown_timeout: withDefault(integer({ min: 5, max: 300 }), 90),
  arch_type: withDefault(nullable(text()), null),
  machine_type: withDefault(nullable(text()), null),
  uuid: withDefault(nullable(uuid), null),
  enable_secure_boot: withDefault(bool, false),
});
const vmUpdate = partial(vmCreate, ['bootloader_ovmf', 'enable_secure_boot']);
const byId: Parameter = { name: 'id', field: required(integer()) };
const options = (fields: Readonly<Record<string, boolean>>): Parameter => ({
  name: 'options',
  field: withDefault(
    object(Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, withDefault(bool, value)]))),
    fields,
  ),
});
const read = ['VM_READ'];
const write = ['VM_WRITE'];

/** `vm.*`: the table of machines and their lives. */
export const vmMethods: readonly Method[] = [
  {
    name: 'vm.query',
    parameters: queryParameters,
    access: read,
    run: ([filters, query], { nas }) =>
      applyQuery(
        [...nas.vms.values()].map((vm) => describeVm(nas, vm)),
        filters,
        query as QueryOptions,
      ),
  },
  {
    name: 'vm.get_instance',
    parameters: instanceParameters(),
    access: read,
    run: ([id], { nas }) => describeVm(nas, getVm(nas, id)),
  },
  {
    name: 'vm.create',
    parameters: [{ name: 'vm_create', field: required(vmCreate) }],
    access: write,
    run: ([data], context) => createVm(data as Entry, context),
  },
  {
    name: 'vm.update',
    parameters: [byId, { name: 'vm_update', field: required(vmUpdate) }],
    access: write,
    run: ([id, data], context) => updateVm(id, data as Entry, context),
  },
  {
    name: 'vm.delete',
    parameters: [byId, options({ zvols: false, force: false })],
    access: write,
    run: ([id, how], context) => deleteVm(context, id, how as { zvols: boolean; force: boolean }),
  },
  {
    name: 'vm.status',
    parameters: [byId],
    access: read,
    run: ([id], { nas }) => {
      const vm = nas.vms.get(Number(id));
      if (!vm) throw matchNotFound();
      return statusOf(nas, vm);
    },
  },
  {
    name: 'vm.start',
    parameters: [byId, options({ overcommit: false })],
    access: write,
    run: async ([id, how], { nas }) => {
      await startVm(nas, getVm(nas, id), (how as { overcommit: boolean }).overcommit);
      return null;
    },
  },
  {
    name: 'vm.stop',
    parameters: [byId, options({ force: false, force_after_timeout: false })],
    access: write,
    job: { lock: ([id]) => `stop_vm_${id}` },
    work: ([id, how], { nas }) => stopVm(nas, getVm(nas, id), how as StopOptions),
  },
  {
    name: 'vm.restart',
    parameters: [byId],
    access: write,
    job: { lock: ([id]) => `restart_vm_${id}` },
    work: async ([id], { nas }) => {
      const vm = getVm(nas, id);
      await stopVm(nas, vm, { force: false, force_after_timeout: true });
      await startVm(nas, vm, true);
      return null;
    },
  },
  {
    name: 'vm.poweroff',
    parameters: [byId],
    access: write,
    run: async ([id], { nas }) => {
      const vm = getVm(nas, id);
      requireState(nas, vm, 'RUNNING', 'SUSPENDED');
      await killVm(nas, vm);
      return null;
    },
  },
  { name: 'vm.suspend', parameters: [byId], access: write, run: ([id], { nas }) => setSuspended(nas, id, true) },
  { name: 'vm.resume', parameters: [byId], access: write, run: ([id], { nas }) => setSuspended(nas, id, false) },
  {
    name: 'vm.get_available_memory',
    parameters: [{ name: 'overcommit', field: withDefault(bool, false) }],
    access: read,
    run: (_, { nas }) => availableBytes(nas),
  },
  {
    name: 'vm.get_memory_usage',
    parameters: [byId],
    access: read,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      requireState(nas, vm, 'RUNNING', 'SUSPENDED');
      return (vm.guest?.memoryMiB ?? 0) * 1024 * 1024;
    },
  },
  { name: 'vm.get_vm_memory_info', parameters: [byId], access: read, run: ([id], { nas }) => memoryInfo(nas, id) },
  {
    name: 'vm.get_vmemory_in_use',
    parameters: [],
    access: read,
    run: (_, { nas }) => {
      const sum = (wanted: (vm: Vm) => boolean) =>
        [...nas.vms.values()].filter(wanted).reduce((total, vm) => total + Number(vm.row['memory']) * 1024 * 1024, 0);
      const starts = (vm: Vm) => vm.row['autostart'] === true;
      return {
        RNP: sum((vm) => isActive(nas, vm) && !starts(vm)),
        PRD: sum((vm) => !isActive(nas, vm) && starts(vm)),
        RPRD: sum((vm) => isActive(nas, vm) && starts(vm)),
      };
    },
  },
  { name: 'vm.random_mac', parameters: [], access: read, run: () => randomMac() },
  {
    name: 'vm.bootloader_options',
    parameters: [],
    access: read,
    run: () => ({ UEFI: 'UEFI', UEFI_CSM: 'Legacy BIOS' }),
  },
  { name: 'vm.bootloader_ovmf_choices', parameters: [], access: read, run: () => selfMap(firmwares) },
  { name: 'vm.cpu_model_choices', parameters: [], access: read, run: () => selfMap(cpuModels) },
  { name: 'vm.guest_architecture_and_machine_choices', parameters: [], access: read, run: () => machines },
  { name: 'vm.maximum_supported_vcpus', parameters: [], access: read, run: () => maximumVcpus },
  { name: 'vm.supports_virtualization', parameters: [], access: read, run: (_, { nas }) => nas.hasKvm },
  {
    name: 'vm.virtualization_details',
    parameters: [],
    access: read,
    run: (_, { nas }) => ({
      supported: nas.hasKvm,
      error: nas.hasKvm ? null : 'Your CPU does not support KVM extensions',
    }),
  },
  {
    name: 'vm.flags',
    parameters: [],
    access: read,
    run: (_, { nas }) => ({
      intel_vmx: nas.hasKvm,
      unrestricted_guest: nas.hasKvm,
      amd_rvi: false,
      amd_asids: false,
    }),
  },
  {
    name: 'vm.get_console',
    parameters: [byId],
    access: read,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      return `${vm.id}_${nameOf(vm)}`;
    },
  },
  {
    name: 'vm.log_file_path',
    parameters: [byId],
    access: read,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      return `/var/log/libvirt/qemu/${vm.id}_${nameOf(vm)}.log`;
    },
  },
];

export function getVm(nas: Nas, id: unknown): Vm {
  const vm = nas.vms.get(Number(id));
  if (!vm) throw notFound('VM', id);
  return vm;
}

const selfMap = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, value]));

function createVm(data: Entry, { nas }: Context): Entry {
  const refusals = new Refusals();
  const row: Entry = { ...data, uuid: data['uuid'] ?? randomUUID() };
  row['suspend_on_snapshot'] ??= nas.version.suspendOnSnapshotDefault;
  checkVm(refusals, nas, 'vm_create', row);
  if (row['bootloader_ovmf'] && !firmwares.includes(String(row['bootloader_ovmf']))) {
    refusals.add('vm_create.bootloader_ovmf', 'Invalid bootloader ovmf choice specified');
  }
  if (row['enable_secure_boot'] === true) demandSecureBoot(refusals, row);
  row['bootloader_ovmf'] ??= nas.version.defaultFirmware;
  refusals.check();

  const vm: Vm = { id: nas.nextId.vm++, row, guest: undefined, lastStuck: undefined };
  nas.vms.set(vm.id, vm);
  if (nas.hasKvm) tellDefined(nas, vm);
  const created = describeVm(nas, vm);
  nas.events.emit({ collection: 'vm.query', msg: 'added', id: vm.id, fields: created });
  return created;
}

function demandSecureBoot(refusals: Refusals, row: Entry): void {
  if (!row['machine_type']) {
    row['machine_type'] = 'pc-q35-6.2';
    row['arch_type'] ??= 'x86_64';
  } else if (!String(row['machine_type']).includes('pc-q35')) {
    refusals.add('vm_create.machine_type', 'Secure boot is only available in q35 machine type');
  }
  row['bootloader_ovmf'] ??= 'OVMF_CODE_4M.secboot.fd';
  if (!String(row['bootloader_ovmf']).includes('secboot')) {
    const message = 'Select a bootloader_ovmf that supports secure boot i.e OVMF_CODE_4M.secboot.fd';
    refusals.add('vm_create.bootloader_ovmf', message);
  }
}

/** What creation and update have in common (middleware: plugins/vm/vms.py, common_validation). */
function checkVm(refusals: Refusals, nas: Nas, schema: string, row: Entry, self?: Vm): void {
  if (row['min_memory'] && Number(row['min_memory']) > Number(row['memory'])) {
    const message = 'Minimum memory should not be greater than defined/maximum memory';
    refusals.add(`${schema}.min_memory`, message);
  }
  if (hasOpenQuote(String(row['command_line_args']))) {
    refusals.add(`${schema}.command_line_args`, 'Parse error: No closing quotation');
  }
  checkCpu(refusals, nas, schema, row);
  const arch = row['arch_type'] as string | null;
  const type = row['machine_type'] as string | null;
  if (arch && !(arch in machines)) {
    refusals.add(`${schema}.arch_type`, 'Specified architecture type is not supported on this system');
  }
  if (type && !arch) {
    refusals.add(`${schema}.arch_type`, `Must be specified when "${schema}.machine_type" is set`);
  } else if (type && arch && machines[arch] && !machines[arch].includes(type)) {
    const message = `Specified machine type is not supported for [${machines[arch].map((one) => `'${one}'`).join(', ')}] architecture type`;
    refusals.add(`${schema}.machine_type`, message);
  }
  const name = String(row['name']);
  if ([...nas.vms.values()].some((vm) => vm !== self && nameOf(vm) === name)) {
    refusals.add(`${schema}.name`, 'This name already exists.', errnos.EEXIST);
  } else if (!/^[a-zA-Z_0-9]+$/.test(name)) {
    refusals.add(`${schema}.name`, 'Only alphanumeric characters are allowed.');
  }
}

function checkCpu(refusals: Refusals, nas: Nas, schema: string, row: Entry): void {
  const product = Number(row['vcpus']) * Number(row['cores']) * Number(row['threads']);
  if (product > maximumVcpus) {
    const message =
      `Maximum ${maximumVcpus} vcpus are supported.Please ensure the product of "${schema}.vcpus", ` +
      `"${schema}.cores" and "${schema}.threads" is less than ${maximumVcpus}.`;
    refusals.add(`${schema}.vcpus`, message);
  } else if (!nas.hasKvm) refusals.add(schema, 'This system does not support virtualization.');
  if (row['cpu_mode'] !== 'CUSTOM' && row['cpu_model']) {
    const message = 'This attribute should not be specified when "cpu_mode" is not "CUSTOM".';
    refusals.add(`${schema}.cpu_model`, message);
  } else if (row['cpu_model'] && !cpuModels.includes(String(row['cpu_model']))) {
    refusals.add(`${schema}.cpu_model`, 'Please select a valid CPU model.');
  }
}

/** Whether a shell would still wait for a quote. */
function hasOpenQuote(line: string): boolean {
  let open = '';
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (character === '\\' && open !== "'") index++;
    else if (open) open = character === open ? '' : open;
    else if (character === '"' || character === "'") open = character;
  }
  return open !== '';
}

function updateVm(id: unknown, data: Entry, { nas }: Context): Entry {
  const vm = getVm(nas, id);
  const row = { ...vm.row, ...data };
  if (row['name'] !== vm.row['name'] && isActive(nas, vm)) {
    throw new CallError('VM name can only be changed when VM is inactive');
  }
  const refusals = new Refusals();
  row['uuid'] ??= randomUUID();
  checkVm(refusals, nas, 'vm_update', row, vm);
  refusals.check();
  vm.row = row;
  const updated = describeVm(nas, vm);
  nas.events.emit({ collection: 'vm.query', msg: 'changed', id: vm.id, fields: updated });
  return updated;
}

interface StopOptions {
  readonly force: boolean;
  readonly force_after_timeout: boolean;
}

async function stopVm(nas: Nas, vm: Vm, how: StopOptions): Promise<null> {
  if (how.force) {
    requireState(nas, vm, 'RUNNING', 'SUSPENDED');
    await killVm(nas, vm);
    return null;
  }
  requireState(nas, vm, 'RUNNING');
  await shutDownVm(nas, vm, Number(vm.row['shutdown_timeout']));
  // The job succeeds even if the guest ignored the button.
  if (how.force_after_timeout && stateOf(nas, vm) === 'RUNNING') await killVm(nas, vm);
  return null;
}

function setSuspended(nas: Nas, id: unknown, suspended: boolean): null {
  const vm = getVm(nas, id);
  requireState(nas, vm, suspended ? 'RUNNING' : 'SUSPENDED');
  if (vm.guest) vm.guest.suspended = suspended;
  return null;
}

/** Only one VM is deleted at a time: the middleware holds a lock over all of it. */
const deletions = new WeakMap<Nas, Promise<unknown>>();

function deleteVm(context: Context, id: unknown, how: { zvols: boolean; force: boolean }): Promise<boolean | null> {
  const { nas } = context;
  const before = deletions.get(nas) ?? Promise.resolve();
  const own = before.catch(() => undefined).then(() => deleteOne(context, id, how));
  deletions.set(
    nas,
    own.catch(() => undefined),
  );
  return own;
}

async function deleteOne(
  { nas, signal }: Context,
  id: unknown,
  how: { zvols: boolean; force: boolean },
): Promise<boolean | null> {
  const vm = getVm(nas, id);
  if (how.zvols && nas.version.deletesZvolsFirst) await destroyZvols(nas, vm, how.force);
  if (isActive(nas, vm)) {
    await killVm(nas, vm);
    // "at least 7 seconds to have the vm complete its post vm actions"
    await pause(nas, 7, signal);
  } else if (stateOf(nas, vm) === 'ERROR' && !how.force) {
    throw new CallError('Unable to retrieve VM status. Failed to destroy VM');
  }
  if (how.zvols && !nas.version.deletesZvolsFirst) await destroyZvols(nas, vm, how.force);
  for (const device of devicesOf(nas, vm)) nas.devices.delete(device.id);
  nas.vms.delete(vm.id);
  nas.events.emit({ collection: 'vm.query', msg: 'removed', id: vm.id });
  return nas.version.deletesZvolsFirst ? null : true;
}

async function destroyZvols(nas: Nas, vm: Vm, force: boolean): Promise<void> {
  for (const { attributes } of devicesOf(nas, vm)) {
    const path = String(attributes['path'] ?? '');
    if (attributes['dtype'] !== 'DISK' || !path.startsWith('/dev/zvol/')) continue;
    const dataset = nas.datasets.get(zvolName(path));
    if (dataset && !isBusy(nas, dataset)) await destroyTree(nas, dataset);
    else if (!force) {
      const why = dataset ? 'dataset is busy' : 'dataset does not exist';
      const message = `Failed to delete dataset: cannot destroy '${zvolName(path)}': ${why}`;
      throw new CallError(message, dataset ? errnos.EBUSY : errnos.EFAULT);
    }
  }
}

function memoryInfo(nas: Nas, id: unknown): Entry {
  const vm = getVm(nas, id);
  if (isActive(nas, vm)) {
    throw new CallError(`Unable to retrieve '${nameOf(vm)}' VM information as it is already running.`);
  }
  const minimum = vm.row['min_memory'] === null ? null : Number(vm.row['min_memory']) * 1024 * 1024;
  const arcMinimum = Math.floor((nas.memoryMiB * 1024 * 1024) / 32);
  const arcMaximum = Math.floor((nas.memoryMiB * 1024 * 1024) / 2);
  const overcommit = requestedBytes(vm) > availableBytes(nas);
  const shrink = overcommit ? Math.min(arcMaximum - arcMinimum, requestedBytes(vm) - availableBytes(nas)) : 0;
  return {
    minimum_memory_requested: minimum,
    total_memory_requested: Number(vm.row['memory']) * 1024 * 1024,
    overcommit_required: overcommit,
    arc_to_shrink: shrink,
    memory_req_fulfilled_after_overcommit: requestedBytes(vm) < availableBytes(nas),
    current_arc_max: arcMaximum,
    arc_min: arcMinimum,
    arc_max_after_shrink: arcMaximum - shrink,
    actual_vm_requested_memory: requestedBytes(vm),
  };
}
