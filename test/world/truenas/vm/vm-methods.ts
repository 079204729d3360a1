import { noMatchFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
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
  {
    name: 'vm.query',
    parameters: queryParameters,
    access: vmReadRoles,
    run: ([filters, query], { nas }) =>
      applyQuery(
        [...nas.vms.values()].map((vm) => describeVmEntry(nas, vm)),
        filters,
        query as QueryOptions,
      ),
  },
  {
    name: 'vm.get_instance',
    parameters: instanceParameters,
    access: vmReadRoles,
    run: ([id], { nas }) => describeVmEntry(nas, getVm(nas, id)),
  },
  {
    name: 'vm.create',
    parameters: [{ name: 'vm_create', field: requiredField(vmCreateModel) }],
    access: vmWriteRoles,
    run: ([data], context) => createVm(data as Entry, context),
  },
  {
    name: 'vm.update',
    parameters: [vmIdParameter, { name: 'vm_update', field: requiredField(vmUpdateModel) }],
    access: vmWriteRoles,
    run: ([id, data], context) => updateVm(id, data as Entry, context),
  },
  {
    name: 'vm.delete',
    parameters: [vmIdParameter, optionsParameter('VMDeleteOptions', { zvols: false, force: false })],
    access: vmWriteRoles,
    run: ([id, how], context) => deleteVm(context, id, how as { zvols: boolean; force: boolean }),
  },
  {
    name: 'vm.clone',
    parameters: [vmIdParameter, { name: 'name', field: requiredField(nonEmptyTextModel) }],
    access: vmWriteRoles,
    run: ([id, name], context) => cloneVm(getVm(context.nas, id), String(name), context),
  },
  {
    name: 'vm.status',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) => {
      const vm = nas.vms.get(Number(id));
      if (!vm) throw noMatchFound();
      return vmStatusOf(nas, vm);
    },
  },
  {
    name: 'vm.start',
    parameters: [vmIdParameter, optionsParameter('VMStartOptions', { overcommit: false })],
    access: vmWriteRoles,
    run: async ([id, how], { nas }) => {
      await startVm(nas, getVm(nas, id), (how as { overcommit: boolean }).overcommit);
      return null;
    },
  },
  {
    name: 'vm.stop',
    parameters: [vmIdParameter, optionsParameter('VMStopOptions', { force: false, force_after_timeout: false })],
    access: vmWriteRoles,
    job: { lock: ([id]) => `stop_vm_${id}` },
    work: ([id, how], { nas }) => stopVm(nas, getVm(nas, id), how as VmStopOptions),
  },
  {
    name: 'vm.poweroff',
    parameters: [vmIdParameter],
    access: vmWriteRoles,
    run: async ([id], { nas }) => {
      const vm = getVm(nas, id);
      requireVmState(nas, vm, 'RUNNING', 'SUSPENDED');
      await killVm(nas, vm);
      return null;
    },
  },
  {
    name: 'vm.suspend',
    parameters: [vmIdParameter],
    access: vmWriteRoles,
    run: ([id], { nas }) => setSuspended(nas, id, true),
  },
  {
    name: 'vm.resume',
    parameters: [vmIdParameter],
    access: vmWriteRoles,
    run: ([id], { nas }) => setSuspended(nas, id, false),
  },
  {
    name: 'vm.cpu_model_choices',
    parameters: [],
    access: vmReadRoles,
    run: () => Object.fromEntries(cpuModels.map((model) => [model, model])),
  },
  {
    name: 'vm.guest_architecture_and_machine_choices',
    parameters: [],
    access: vmReadRoles,
    run: (_, { nas }) => nas.guestMachines,
  },
  {
    name: 'vm.get_available_memory',
    parameters: [{ name: 'overcommit', field: defaultedField(booleanModel, false) }],
    access: vmReadRoles,
    run: (_, { nas }) => availableBytes(nas),
  },
  {
    name: 'vm.virtualization_details',
    parameters: [],
    access: vmReadRoles,
    run: (_, { nas }) => ({
      supported: nas.hasKvm,
      error: nas.hasKvm ? null : 'Your CPU does not support KVM extensions',
    }),
  },
];
