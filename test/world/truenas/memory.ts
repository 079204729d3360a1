import { CallError } from './errors.ts';
import { isActive, nameOf, requireState } from './machines.ts';
import { availableBytes, requestedBytes } from './memory-room.ts';
import type { Method } from './method.ts';
import { bool, withDefault } from './model.ts';
import type { Nas, Vm } from './nas.ts';
import type { Entry } from './query.ts';
import { byId, read } from './vm-model.ts';
import { getVm } from './vm-table.ts';

const mebibyte = 1024 * 1024;

/** What machines take and what is left. All of it in bytes, while a machine asks in MiB. */
export const memoryMethods: readonly Method[] = [
  {
    name: 'vm.get_available_memory',
    parameters: [{ name: 'overcommit', field: withDefault(bool, false) }],
    access: read,
    run: ([overcommit], { nas }) => availableBytes(nas, overcommit === true),
  },
  {
    name: 'vm.get_memory_usage',
    parameters: [byId],
    access: read,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      requireState(nas, vm, 'RUNNING', 'SUSPENDED');
      return (vm.guest?.memoryMiB ?? 0) * mebibyte;
    },
  },
  { name: 'vm.get_vm_memory_info', parameters: [byId], access: read, run: ([id], { nas }) => memoryInfo(nas, id) },
  { name: 'vm.get_vmemory_in_use', parameters: [], access: read, run: (_, { nas }) => inUse(nas) },
];

function inUse(nas: Nas): Entry {
  const sum = (wanted: (vm: Vm) => boolean) =>
    [...nas.vms.values()].filter(wanted).reduce((total, vm) => total + Number(vm.row['memory']) * mebibyte, 0);
  const starts = (vm: Vm) => vm.row['autostart'] === true;
  return {
    RNP: sum((vm) => isActive(nas, vm) && !starts(vm)),
    PRD: sum((vm) => !isActive(nas, vm) && starts(vm)),
    RPRD: sum((vm) => isActive(nas, vm) && starts(vm)),
  };
}

function memoryInfo(nas: Nas, id: unknown): Entry {
  const vm = getVm(nas, id);
  if (isActive(nas, vm)) {
    throw new CallError(`Unable to retrieve '${nameOf(vm)}' VM information as it is already running.`);
  }
  const minimum = vm.row['min_memory'] === null ? null : Number(vm.row['min_memory']) * mebibyte;
  const available = availableBytes(nas, false);
  const { minimumBytes, maximumBytes } = nas.arc;
  const isShort = requestedBytes(vm) > available;
  const shrink = isShort ? Math.min(maximumBytes - minimumBytes, requestedBytes(vm) - available) : 0;
  return {
    minimum_memory_requested: minimum,
    total_memory_requested: Number(vm.row['memory']) * mebibyte,
    overcommit_required: isShort,
    arc_to_shrink: shrink,
    memory_req_fulfilled_after_overcommit: requestedBytes(vm) < availableBytes(nas, true),
    current_arc_max: maximumBytes,
    arc_min: minimumBytes,
    arc_max_after_shrink: maximumBytes - shrink,
    actual_vm_requested_memory: requestedBytes(vm),
  };
}
