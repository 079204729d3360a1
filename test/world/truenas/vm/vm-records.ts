import { randomUUID } from 'node:crypto';
import { ArgumentErrors, CallError, errnos, instanceNotFound } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasState, NasVm } from '../nas-state.ts';
import { emitCallEvent } from '../protocol/collection-events.ts';
import { cpuModels, maximumVcpus } from './vm-parameters.ts';
import { describeVmEntry, emitDefined, isRunningOrSuspended, vmNameOf } from './vm-runtime.ts';

/** The VM of this number. Throws the middleware's error for an unknown one. */
export function getVm(nas: NasState, id: unknown): NasVm {
  const vm = nas.vms.get(Number(id));
  if (!vm) throw instanceNotFound('VM', id);
  return vm;
}

/** `vm.create`. */
export function createVm(data: Entry, { nas }: CallContext): Entry {
  const rejections = new ArgumentErrors();
  const row: Entry = { ...data, uuid: data['uuid'] ?? randomUUID() };
  row['suspend_on_snapshot'] ??= nas.version.suspendOnSnapshotDefault;
  checkVm(rejections, nas, 'vm_create', row);
  row['bootloader_ovmf'] ??= nas.version.defaultFirmware;
  rejections.check();

  const vm: NasVm = { id: nas.nextId.vm++, row, guest: undefined, lastStuck: undefined };
  nas.vms.set(vm.id, vm);
  if (nas.hasKvm && !nas.version.plainDomainEvents) emitDefined(nas, vm);
  const created = describeVmEntry(nas, vm);
  emitCallEvent(nas, 'vm.query', vm.id, 'added', created);
  return created;
}

/** Validation of both creation and update (middleware: plugins/vm/vms.py, common_validation). */
function checkVm(rejections: ArgumentErrors, nas: NasState, schema: string, row: Entry, self?: NasVm): void {
  checkCpu(rejections, nas, schema, row);
  const name = String(row['name']);
  if ([...nas.vms.values()].some((vm) => vm !== self && vmNameOf(vm) === name)) {
    rejections.add(`${schema}.name`, 'This name already exists.', errnos.EEXIST);
  } else if (!/^[a-zA-Z_0-9]+$/.test(name)) {
    rejections.add(`${schema}.name`, 'Only alphanumeric characters are allowed.');
  }
}

function checkCpu(rejections: ArgumentErrors, nas: NasState, schema: string, row: Entry): void {
  const product = Number(row['vcpus']) * Number(row['cores']) * Number(row['threads']);
  if (product > maximumVcpus) {
    const message =
      `Maximum ${maximumVcpus} vcpus are supported.Please ensure the product of "${schema}.vcpus", ` +
      `"${schema}.cores" and "${schema}.threads" is less than ${maximumVcpus}.`;
    rejections.add(`${schema}.vcpus`, message);
  } else if (!nas.hasKvm) rejections.add(schema, 'This system does not support virtualization.');
  if (row['cpu_mode'] !== 'CUSTOM' && row['cpu_model']) {
    const message = 'This attribute should not be specified when "cpu_mode" is not "CUSTOM".';
    rejections.add(`${schema}.cpu_model`, message);
  } else if (row['cpu_model'] && !cpuModels.includes(String(row['cpu_model']))) {
    rejections.add(`${schema}.cpu_model`, 'Please select a valid CPU model.');
  }
}

/** `vm.update`. */
export function updateVm(id: unknown, data: Entry, { nas }: CallContext): Entry {
  const vm = getVm(nas, id);
  const row = { ...vm.row, ...data };
  if (row['name'] !== vm.row['name'] && isRunningOrSuspended(nas, vm)) {
    throw new CallError('VM name can only be changed when VM is inactive');
  }
  const rejections = new ArgumentErrors();
  row['uuid'] ??= randomUUID();
  checkVm(rejections, nas, 'vm_update', row, vm);
  rejections.check();
  vm.row = row;
  const updated = describeVmEntry(nas, vm);
  emitCallEvent(nas, 'vm.query', vm.id, 'changed', updated);
  return updated;
}
