import { noMatchFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { requiredField } from '../middleware/parameter-model.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { deleteVm, setSuspended, stopVm, type VmStopOptions } from './vm-lifecycle.ts';
import {
  cpuModels,
  maximumVcpus,
  optionsParameter,
  ovmfFirmwares,
  vmCreateModel,
  vmIdParameter,
  vmReadRoles,
  vmUpdateModel,
  vmWriteRoles,
} from './vm-parameters.ts';
import { createVm, getVm, updateVm } from './vm-records.ts';
import { describeVmEntry, killVm, randomMac, requireVmState, startVm, vmNameOf, vmStatusOf } from './vm-runtime.ts';

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
    parameters: instanceParameters(),
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
    name: 'vm.restart',
    parameters: [vmIdParameter],
    access: vmWriteRoles,
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
  { name: 'vm.random_mac', parameters: [], access: vmReadRoles, run: () => randomMac() },
  {
    name: 'vm.bootloader_options',
    parameters: [],
    access: vmReadRoles,
    run: () => ({ UEFI: 'UEFI', UEFI_CSM: 'Legacy BIOS' }),
  },
  { name: 'vm.bootloader_ovmf_choices', parameters: [], access: vmReadRoles, run: () => selfMap(ovmfFirmwares) },
  { name: 'vm.cpu_model_choices', parameters: [], access: vmReadRoles, run: () => selfMap(cpuModels) },
  {
    name: 'vm.guest_architecture_and_machine_choices',
    parameters: [],
    access: vmReadRoles,
    run: (_, { nas }) => nas.guestMachines,
  },
  { name: 'vm.maximum_supported_vcpus', parameters: [], access: vmReadRoles, run: () => maximumVcpus },
  { name: 'vm.supports_virtualization', parameters: [], access: vmReadRoles, run: (_, { nas }) => nas.hasKvm },
  {
    name: 'vm.virtualization_details',
    parameters: [],
    access: vmReadRoles,
    run: (_, { nas }) => ({
      supported: nas.hasKvm,
      error: nas.hasKvm ? null : 'Your CPU does not support KVM extensions',
    }),
  },
  {
    name: 'vm.flags',
    parameters: [],
    access: vmReadRoles,
    run: (_, { nas }) => ({
      intel_vmx: nas.hasKvm,
      unrestricted_guest: nas.hasKvm,
      amd_rvi: false,
      amd_asids: false,
    }),
  },
  {
    name: 'vm.get_console',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      return `${vm.id}_${vmNameOf(vm)}`;
    },
  },
  {
    name: 'vm.log_file_path',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) => {
      const vm = getVm(nas, id);
      return `/var/log/libvirt/qemu/${vm.id}_${vmNameOf(vm)}.log`;
    },
  },
];

const selfMap = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, value]));
