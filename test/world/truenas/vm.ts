import { matchNotFound } from './errors.ts';
import { describeVm, killVm, nameOf, randomMac, requireState, startVm, statusOf } from './machines.ts';
import type { Method } from './method.ts';
import { required } from './model.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from './query.ts';
import { deleteVm, type StopOptions, setSuspended, stopVm } from './vm-life.ts';
import { byId, cpuModels, firmwares, maximumVcpus, options, read, vmCreate, vmUpdate, write } from './vm-model.ts';
import { createVm, getVm, updateVm } from './vm-table.ts';

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
    parameters: [byId, options('VMDeleteOptions', { zvols: false, force: false })],
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
    parameters: [byId, options('VMStartOptions', { overcommit: false })],
    access: write,
    run: async ([id, how], { nas }) => {
      await startVm(nas, getVm(nas, id), (how as { overcommit: boolean }).overcommit);
      return null;
    },
  },
  {
    name: 'vm.stop',
    parameters: [byId, options('VMStopOptions', { force: false, force_after_timeout: false })],
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
  { name: 'vm.random_mac', parameters: [], access: read, run: () => randomMac() },
  {
    name: 'vm.bootloader_options',
    parameters: [],
    access: read,
    run: () => ({ UEFI: 'UEFI', UEFI_CSM: 'Legacy BIOS' }),
  },
  { name: 'vm.bootloader_ovmf_choices', parameters: [], access: read, run: () => selfMap(firmwares) },
  { name: 'vm.cpu_model_choices', parameters: [], access: read, run: () => selfMap(cpuModels) },
  {
    name: 'vm.guest_architecture_and_machine_choices',
    parameters: [],
    access: read,
    run: (_, { nas }) => nas.guestMachines,
  },
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

const selfMap = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, value]));
