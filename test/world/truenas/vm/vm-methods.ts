import { noMatchFound } from '../middleware/errors.ts';
import { type ApiMethod, plainMethod } from '../middleware/method.ts';
import { booleanModel, defaultedField, nonEmptyTextModel, requiredField } from '../middleware/parameter-model.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { availableBytes } from '../system/memory-budget.ts';
import { cloneVm } from './clone-vm.ts';
import { deleteVm, setSuspended, stopVm, type VmStopOptions } from './vm-lifecycle.ts';
import {
  cpuModels,
  optionsParameter,
  vmCreateModel,
  vmIdParameter,
  vmReadRoles,
  vmUpdateModel,
  vmWriteRoles,
} from './vm-parameters.ts';
import { createVm, getVm, updateVm } from './vm-records.ts';
import { describeVmEntry, killVm, requireVmState, startVm, vmStatusOf } from './vm-runtime.ts';

/** `vm.*`: the table of machines and their lifecycle. */
export const vmMethods: readonly ApiMethod[] = [
  plainMethod('vm.query', queryParameters, vmReadRoles, ([filters, query], { nas }) =>
    applyQuery(
      [...nas.vms.values()].map((vm) => describeVmEntry(nas, vm)),
      filters,
      query as QueryOptions,
    ),
  ),
  plainMethod('vm.get_instance', instanceParameters, vmReadRoles, ([id], { nas }) =>
    describeVmEntry(nas, getVm(nas, id)),
  ),
  plainMethod(
    'vm.create',
    [{ name: 'vm_create', field: requiredField(vmCreateModel) }],
    vmWriteRoles,
    ([data], context) => createVm(data as Entry, context),
  ),
  plainMethod(
    'vm.update',
    [vmIdParameter, { name: 'vm_update', field: requiredField(vmUpdateModel) }],
    vmWriteRoles,
    ([id, data], context) => updateVm(id, data as Entry, context),
  ),
  plainMethod(
    'vm.delete',
    [vmIdParameter, optionsParameter('VMDeleteOptions', { zvols: false, force: false })],
    vmWriteRoles,
    ([id, how], context) => deleteVm(context, id, how as { zvols: boolean; force: boolean }),
  ),
  plainMethod(
    'vm.clone',
    [vmIdParameter, { name: 'name', field: requiredField(nonEmptyTextModel) }],
    vmWriteRoles,
    ([id, name], context) => cloneVm(getVm(context.nas, id), String(name), context),
  ),
  plainMethod('vm.status', [vmIdParameter], vmReadRoles, ([id], { nas }) => {
    const vm = nas.vms.get(Number(id));
    if (!vm) throw noMatchFound();
    return vmStatusOf(nas, vm);
  }),
  plainMethod(
    'vm.start',
    [vmIdParameter, optionsParameter('VMStartOptions', { overcommit: false })],
    vmWriteRoles,
    async ([id, how], { nas }) => {
      await startVm(nas, getVm(nas, id), (how as { overcommit: boolean }).overcommit);
      return null;
    },
  ),
  {
    name: 'vm.stop',
    parameters: [vmIdParameter, optionsParameter('VMStopOptions', { force: false, force_after_timeout: false })],
    access: vmWriteRoles,
    job: { lock: ([id]) => `stop_vm_${id}` },
    work: ([id, how], { nas }) => stopVm(nas, getVm(nas, id), how as VmStopOptions),
  },
  plainMethod('vm.poweroff', [vmIdParameter], vmWriteRoles, async ([id], { nas }) => {
    const vm = getVm(nas, id);
    requireVmState(nas, vm, 'RUNNING', 'SUSPENDED');
    await killVm(nas, vm);
    return null;
  }),
  plainMethod('vm.suspend', [vmIdParameter], vmWriteRoles, ([id], { nas }) => setSuspended(nas, id, true)),
  plainMethod('vm.resume', [vmIdParameter], vmWriteRoles, ([id], { nas }) => setSuspended(nas, id, false)),
  plainMethod('vm.cpu_model_choices', [], vmReadRoles, () =>
    Object.fromEntries(cpuModels.map((model) => [model, model])),
  ),
  plainMethod('vm.guest_architecture_and_machine_choices', [], vmReadRoles, (_, { nas }) => nas.guestMachines),
  plainMethod(
    'vm.get_available_memory',
    [{ name: 'overcommit', field: defaultedField(booleanModel, false) }],
    vmReadRoles,
    (_, { nas }) => availableBytes(nas),
  ),
  plainMethod('vm.virtualization_details', [], vmReadRoles, (_, { nas }) => ({
    supported: nas.hasKvm,
    error: nas.hasKvm ? null : 'Your CPU does not support KVM extensions',
  })),
];
