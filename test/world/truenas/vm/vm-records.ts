import { randomUUID } from 'node:crypto';
import { ArgumentErrors, CallError, errnos, instanceNotFound } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasState, NasVm } from '../nas-state.ts';
import { emitCallEvent } from '../protocol/collection-events.ts';
import { cpuModels, maximumVcpus, ovmfFirmwares } from './vm-parameters.ts';
import { describeVmEntry, emitDefined, isRunningOrSuspended, vmNameOf } from './vm-runtime.ts';

/** The VM of this number. Throws the middleware's error for an unknown one. */
export function getVm(nas: NasState, id: unknown): NasVm {
  const vm = nas.vms.get(Number(id));
  if (!vm) throw instanceNotFound('VM', id);
  return vm;
}

/** `vm.create`. */
export function createVm(data: Entry, { nas }: CallContext): Entry {
  const refusals = new ArgumentErrors();
  const row: Entry = { ...data, uuid: data['uuid'] ?? randomUUID() };
  row['suspend_on_snapshot'] ??= nas.version.suspendOnSnapshotDefault;
  checkVm(refusals, nas, 'vm_create', row);
  if (row['bootloader_ovmf'] && !ovmfFirmwares.includes(String(row['bootloader_ovmf']))) {
    refusals.add('vm_create.bootloader_ovmf', 'Invalid bootloader ovmf choice specified');
  }
  if (row['enable_secure_boot'] === true) requireSecureBootFirmware(refusals, row);
  row['bootloader_ovmf'] ??= nas.version.defaultFirmware;
  refusals.check();

  const vm: NasVm = { id: nas.nextId.vm++, row, guest: undefined, lastStuck: undefined };
  nas.vms.set(vm.id, vm);
  if (nas.hasKvm && !nas.version.plainDomainEvents) emitDefined(nas, vm);
  const created = describeVmEntry(nas, vm);
  emitCallEvent(nas, 'vm.query', vm.id, 'added', created);
  return created;
}

function requireSecureBootFirmware(refusals: ArgumentErrors, row: Entry): void {
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

/** Validation of both creation and update (middleware: plugins/vm/vms.py, common_validation). */
function checkVm(refusals: ArgumentErrors, nas: NasState, schema: string, row: Entry, self?: NasVm): void {
  if (row['min_memory'] && Number(row['min_memory']) > Number(row['memory'])) {
    const message = 'Minimum memory should not be greater than defined/maximum memory';
    refusals.add(`${schema}.min_memory`, message);
  }
  if (hasOpenQuote(String(row['command_line_args']))) {
    refusals.add(`${schema}.command_line_args`, 'Parse error: No closing quotation');
  }
  checkCpu(refusals, nas, schema, row);
  checkPinning(refusals, schema, row);
  const arch = row['arch_type'] as string | null;
  const type = row['machine_type'] as string | null;
  const machines = nas.guestMachines;
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
  if ([...nas.vms.values()].some((vm) => vm !== self && vmNameOf(vm) === name)) {
    refusals.add(`${schema}.name`, 'This name already exists.', errnos.EEXIST);
  } else if (!/^[a-zA-Z_0-9]+$/.test(name)) {
    refusals.add(`${schema}.name`, 'Only alphanumeric characters are allowed.');
  }
}

function checkCpu(refusals: ArgumentErrors, nas: NasState, schema: string, row: Entry): void {
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

/** The number of pinned processors is validated (middleware: plugins/vm/vms.py, common_validation). */
function checkPinning(refusals: ArgumentErrors, schema: string, row: Entry): void {
  if (row['pin_vcpus'] !== true) return;
  const cpuset = row['cpuset'] as string | null;
  const wanted = Number(row['vcpus']) * Number(row['cores']) * Number(row['threads']);
  if (!cpuset) refusals.add(`${schema}.cpuset`, `Must be specified when "${schema}.pin_vcpus" is set.`);
  else if (countNumericSet(cpuset) !== wanted) {
    const message = `Number of cpus in "${schema}.cpuset" must be equal to total number vcpus if pinning is enabled.`;
    refusals.add(`${schema}.pin_vcpus`, message);
  }
}

/** The number of elements of a set such as `0-3,8`. */
function countNumericSet(text: string): number {
  const numbers = text.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return new Set(numbers).size;
}

/** Whether a shell would report an unclosed quote. */
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

/** `vm.update`. */
export function updateVm(id: unknown, data: Entry, { nas }: CallContext): Entry {
  const vm = getVm(nas, id);
  const row = { ...vm.row, ...data };
  if (row['name'] !== vm.row['name'] && isRunningOrSuspended(nas, vm)) {
    throw new CallError('VM name can only be changed when VM is inactive');
  }
  const refusals = new ArgumentErrors();
  row['uuid'] ??= randomUUID();
  checkVm(refusals, nas, 'vm_update', row, vm);
  refusals.check();
  vm.row = row;
  const updated = describeVmEntry(nas, vm);
  emitCallEvent(nas, 'vm.query', vm.id, 'changed', updated);
  return updated;
}
