import { CallError } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { booleanModel, defaultedField } from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasState, NasVm } from '../nas-state.ts';
import { vmIdParameter, vmReadRoles } from '../vm/vm-parameters.ts';
import { getVm } from '../vm/vm-records.ts';
import { isRunningOrSuspended, requireVmState, vmNameOf } from '../vm/vm-runtime.ts';
import { availableBytes, requestedBytes } from './memory-budget.ts';

const mebibyte = 1024 * 1024;

/** Memory of machines and available memory. All values are in bytes, while a machine's memory is in MiB. */
export const memoryMethods: readonly ApiMethod[] = [
  {
    name: 'vm.get_available_memory',
    parameters: [{ name: 'overcommit', field: defaultedField(booleanModel, false) }],
    access: vmReadRoles,
    run: ([overcommit], { nas }) => availableBytes(nas, overcommit === true),
  },
  {
    name: 'vm.get_memory_usage',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      requireVmState(nas, vm, 'RUNNING', 'SUSPENDED');
      return (vm.guest?.memoryMiB ?? 0) * mebibyte;
    },
  },
  {
    name: 'vm.get_vm_memory_info',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) => memoryInfo(nas, id),
  },
  { name: 'vm.get_vmemory_in_use', parameters: [], access: vmReadRoles, run: (_, { nas }) => memoryInUse(nas) },
];

function memoryInUse(nas: NasState): Entry {
  const sum = (wanted: (vm: NasVm) => boolean) =>
    [...nas.vms.values()].filter(wanted).reduce((total, vm) => total + Number(vm.row['memory']) * mebibyte, 0);
  const starts = (vm: NasVm) => vm.row['autostart'] === true;
  return {
    RNP: sum((vm) => isRunningOrSuspended(nas, vm) && !starts(vm)),
    PRD: sum((vm) => !isRunningOrSuspended(nas, vm) && starts(vm)),
    RPRD: sum((vm) => isRunningOrSuspended(nas, vm) && starts(vm)),
  };
}

function memoryInfo(nas: NasState, id: unknown): Entry {
  const vm = getVm(nas, id);
  if (isRunningOrSuspended(nas, vm)) {
    throw new CallError(`Unable to retrieve '${vmNameOf(vm)}' VM information as it is already running.`);
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
