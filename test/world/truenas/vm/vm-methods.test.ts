import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed: { memoryMiB: 8192 } });
  client = await nas.login();
});
afterEach(() => nas.close());

const create = (data: object = {}) => client.call('vm.create', { name: 'a', memory: 512, ...data });
const argumentErrorsOf = async (method: string, ...params: unknown[]) =>
  (await client.ask(method, ...params)).error?.data?.extra;
const state = async (id: number) => (await client.call('vm.status', id)).state;

describe('vm.create', () => {
  test('the entry has all fields of 25.10 with its defaults', async () => {
    const { uuid, ...entry } = await create();
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(entry).toEqual({
      ...{ id: 1, name: 'a', description: '', memory: 512, min_memory: null, vcpus: 1, cores: 1, threads: 1 },
      ...{ cpu_mode: 'CUSTOM', cpu_model: null, cpuset: null, nodeset: null, pin_vcpus: false },
      ...{ enable_cpu_topology_extension: false, bootloader: 'UEFI', bootloader_ovmf: 'OVMF_CODE_4M.fd' },
      ...{ enable_secure_boot: false, trusted_platform_module: false, autostart: true, time: 'LOCAL' },
      ...{ shutdown_timeout: 90, suspend_on_snapshot: false, ensure_display_device: true, hide_from_msr: false },
      ...{ hyperv_enlightenments: false, arch_type: null, machine_type: null, command_line_args: '' },
      ...{ devices: [], display_available: false, status: { state: 'STOPPED', pid: null, domain_state: 'SHUTOFF' } },
    });
  });

  test.each([
    [{ name: 'a-b' }, 'vm_create.name', 'Only alphanumeric characters are allowed.', 22],
    [{ name: 'a.b' }, 'vm_create.name', 'Only alphanumeric characters are allowed.', 22],
    [{ memory: 19 }, 'vm_create.memory', 'Input should be greater than or equal to 20', 22],
    [{ bootloader: 'BIOS' }, 'vm_create.bootloader', "Input should be 'UEFI_CSM' or 'UEFI'", 22],
    [{ shutdown_timeout: 4 }, 'vm_create.shutdown_timeout', 'Input should be greater than or equal to 5', 22],
    [
      { min_memory: 1024 },
      'vm_create.min_memory',
      'Minimum memory should not be greater than defined/maximum memory',
      22,
    ],
    [
      { cpu_mode: 'HOST-MODEL', cpu_model: 'EPYC' },
      'vm_create.cpu_model',
      'This attribute should not be specified when "cpu_mode" is not "CUSTOM".',
      22,
    ],
    [{ cpu_model: 'Z80' }, 'vm_create.cpu_model', 'Please select a valid CPU model.', 22],
    [{ bootloader_ovmf: 'MINE.fd' }, 'vm_create.bootloader_ovmf', 'Invalid bootloader ovmf choice specified', 22],
    [{ machine_type: 'q35' }, 'vm_create.arch_type', 'Must be specified when "vm_create.machine_type" is set', 22],
    [{ uuid: 'no uuid' }, 'vm_create.uuid', 'Value error, UUID is not valid version 4', 22],
    [{ command_line_args: '-smbios "x' }, 'vm_create.command_line_args', 'Parse error: No closing quotation', 22],
    [{ devices: [] }, 'vm_create.devices', 'Extra inputs are not permitted', 22],
    [
      { vcpus: 64, cores: 2, threads: 2 },
      'vm_create.vcpus',
      expect.stringContaining('Maximum 255 vcpus are supported.'),
      22,
    ],
  ])('%j is refused', async (data, path, message, errno) => {
    expect(await argumentErrorsOf('vm.create', { name: 'a', memory: 512, ...data })).toEqual([[path, message, errno]]);
  });

  test('a name is unique', async () => {
    await create();
    expect(await argumentErrorsOf('vm.create', { name: 'a', memory: 512 })).toEqual([
      ['vm_create.name', 'This name already exists.', 17],
    ]);
  });

  test('any well-formed uuid is accepted, whatever its version', async () => {
    expect((await create({ uuid: '018f2f6c-5f4b-8aaa-bbbb-0123456789ab' })).uuid).toBe(
      '018f2f6c-5f4b-8aaa-bbbb-0123456789ab',
    );
  });

  test('secure boot chooses firmware and machine', async () => {
    expect(await create({ enable_secure_boot: true })).toMatchObject({
      ...{ bootloader_ovmf: 'OVMF_CODE_4M.secboot.fd', machine_type: 'pc-q35-6.2', arch_type: 'x86_64' },
    });
  });

  test('without virtualization no machine is created', async () => {
    await nas.close();
    nas = await startTrueNasFixture({ seed: { kvm: false } });
    client = await nas.login();
    expect(await argumentErrorsOf('vm.create', { name: 'a', memory: 512 })).toEqual([
      ['vm_create', 'This system does not support virtualization.', 22],
    ]);
    expect(await client.call('vm.virtualization_details')).toEqual({
      supported: false,
      error: 'Your CPU does not support KVM extensions',
    });
  });
});

describe('vm.update', () => {
  test('changes the named fields, except those that are fixed at creation', async () => {
    await create();
    expect(await client.call('vm.update', 1, { description: 'hello', memory: 1024 })).toMatchObject({
      description: 'hello',
      memory: 1024,
      vcpus: 1,
    });
    expect(await argumentErrorsOf('vm.update', 1, { bootloader_ovmf: 'OVMF_CODE.fd' })).toEqual([
      ['vm_update.bootloader_ovmf', 'Extra inputs are not permitted', 22],
    ]);
  });

  test('there is no method to reset the NVRAM', async () => {
    await create();
    expect((await argumentErrorsOf('vm.update', 1, { reset_nvram: true }))[0][1]).toBe(
      'Extra inputs are not permitted',
    );
  });

  test('a running machine keeps its name', async () => {
    await create();
    await client.call('vm.start', 1);
    expect((await client.ask('vm.update', 1, { name: 'b' })).error?.data.reason).toBe(
      '[EFAULT] VM name can only be changed when VM is inactive',
    );
    expect((await client.call('vm.update', 1, { description: 'x' })).description).toBe('x');
  });
});

describe('vm.start', () => {
  test('of a running machine is refused', async () => {
    await create();
    await client.call('vm.start', 1);
    const status = await client.call('vm.status', 1);
    expect(status).toMatchObject({ state: 'RUNNING', domain_state: 'RUNNING', pid: expect.any(Number) });
    expect((await client.ask('vm.start', 1)).error?.data.reason).toBe("[EFAULT] 'a' is already running");
    await client.call('vm.suspend', 1);
    expect(await state(1)).toBe('SUSPENDED');
    expect((await client.ask('vm.start', 1)).error?.data.reason).toContain('suspended');
    await client.call('vm.resume', 1);
    expect(await state(1)).toBe('RUNNING');
  });

  test('memory: only start checks it, running guests count, overcommit does not check', async () => {
    for (const name of ['a', 'b', 'c']) await create({ name, memory: 2048 });
    await client.call('vm.start', 1);
    await client.call('vm.start', 2);
    const left = await client.call('vm.get_available_memory');
    expect(left).toBeLessThan(2048 * 1024 * 1024);
    const { error } = await client.ask('vm.start', 3);
    expect(error?.data).toMatchObject({
      error: 12,
      errname: 'ENOMEM',
      reason: '[ENOMEM] Cannot guarantee memory for guest c',
    });
    expect(await client.call('vm.get_vm_memory_info', 3)).toMatchObject({
      overcommit_required: true,
      total_memory_requested: 2048 * 1024 * 1024,
    });
    await client.call('vm.start', 3, { overcommit: true });
    expect(await state(3)).toBe('RUNNING');
  });

  test('of concurrent starts only one succeeds', async () => {
    await create({ name: 'a' });
    const replies = await Promise.all([1, 2, 3].map(() => client.ask('vm.start', 1)));
    const refused = replies.flatMap(({ error }) => error?.data.reason ?? []);
    expect(refused).toEqual(Array(2).fill("[EFAULT] 'a' is already running"));
    expect(nas.runner.started).toHaveLength(1);
  });

  test('with min_memory the guest begins with that', async () => {
    await create({ memory: 4096, min_memory: 1024 });
    await client.call('vm.start', 1);
    expect(nas.runner.started[0]?.memoryMiB).toBe(1024);
  });

  test.each([
    [{ cpu_mode: 'HOST-PASSTHROUGH' }, 'host'],
    [{ cpu_mode: 'HOST-MODEL' }, 'host'],
    [{ cpu_mode: 'CUSTOM', cpu_model: 'EPYC' }, 'EPYC'],
    [{}, null],
  ])('%j gives the CPU %s', async (data, cpuModel) => {
    await create(data);
    await client.call('vm.start', 1);
    expect(nas.runner.started[0]?.cpuModel).toBe(cpuModel);
  });

  test('sockets, cores and threads are multiplied; legacy firmware is bios', async () => {
    await create({ vcpus: 2, cores: 3, threads: 2, bootloader: 'UEFI_CSM' });
    await client.call('vm.start', 1);
    expect(nas.runner.started[0]).toMatchObject({ vcpus: 12, firmware: 'bios' });
  });

  test('the reason why a boot cannot succeed can be read, also after the machine was switched off', async () => {
    nas.runner.stuck = 'nothing bootable';
    await create();
    expect(nas.room.stuck('a')).toBeUndefined();
    await client.call('vm.start', 1);
    expect(nas.room.stuck('a')).toBe('nothing bootable');
    await client.call('vm.poweroff', 1);
    expect(nas.room.stuck('a')).toBe('nothing bootable');
  });
});

describe('stopping', () => {
  test('a guest that obeys the button is off at the end of the job', async () => {
    await create();
    await client.call('vm.start', 1);
    expect((await client.job('vm.stop', 1)).state).toBe('SUCCESS');
    expect(await state(1)).toBe('STOPPED');
  });

  test('a guest that ignores it still runs, and the job succeeds all the same', async () => {
    nas.runner.minding = false;
    await create({ shutdown_timeout: 5 });
    await client.call('vm.start', 1);
    expect((await client.job('vm.stop', 1)).state).toBe('SUCCESS');
    expect(await state(1)).toBe('RUNNING');
    expect((await client.job('vm.stop', 1, { force_after_timeout: true })).state).toBe('SUCCESS');
    expect(await state(1)).toBe('STOPPED');
  });

  test('force and poweroff do not wait for the guest', async () => {
    nas.runner.minding = false;
    await create();
    await client.call('vm.start', 1);
    expect((await client.job('vm.stop', 1, { force: true })).state).toBe('SUCCESS');
    await client.call('vm.start', 1);
    expect(await client.call('vm.poweroff', 1)).toBeNull();
    expect(await state(1)).toBe('STOPPED');
    expect((await client.ask('vm.poweroff', 1)).error?.data.reason).toBe(
      "[EFAULT] VM state is currently not 'RUNNING / SUSPENDED'",
    );
  });

  test('restart switches off and on again', async () => {
    await create();
    await client.call('vm.start', 1);
    expect((await client.job('vm.restart', 1)).state).toBe('SUCCESS');
    expect(nas.runner.started).toHaveLength(2);
    expect(await state(1)).toBe('RUNNING');
  });
});

describe('vm.delete', () => {
  const withDisk = async () => {
    await client.call('pool.dataset.create', { name: 'tank/v', type: 'VOLUME', volsize: 1024 ** 3 });
    await create();
    await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'DISK', path: '/dev/zvol/tank/v' } });
  };

  test('deletes the devices and leaves zvols', async () => {
    await withDisk();
    expect(await client.call('vm.delete', 1)).toBe(true);
    expect(await client.call('vm.device.query')).toEqual([]);
    expect(nas.room.nas.datasets.has('tank/v')).toBe(true);
  });

  test('deletes zvols only on request', async () => {
    await withDisk();
    await client.call('vm.delete', 1, { zvols: true });
    expect(nas.room.nas.datasets.has('tank/v')).toBe(false);
  });

  test('switches a running machine off first', async () => {
    await withDisk();
    await client.call('vm.start', 1);
    expect(await client.call('vm.delete', 1, { zvols: true })).toBe(true);
    expect(await client.call('vm.query')).toEqual([]);
  });

  test('has no force_after_timeout', async () => {
    await create();
    expect(await argumentErrorsOf('vm.delete', 1, { force_after_timeout: true })).toEqual([
      ['options.force_after_timeout', 'Extra inputs are not permitted', 22],
    ]);
  });

  test('ids are not reused', async () => {
    await create();
    await client.call('vm.delete', 1);
    expect((await create()).id).toBe(2);
  });

  test('a machine in ERROR needs force', async () => {
    await create();
    Object.assign(nas.room.nas, { hasKvm: false });
    expect((await client.call('vm.get_instance', 1)).status).toEqual({
      state: 'ERROR',
      pid: null,
      domain_state: 'ERROR',
    });
    expect((await client.ask('vm.delete', 1)).error?.data.reason).toBe(
      '[EFAULT] Unable to retrieve VM status. Failed to destroy VM',
    );
    expect(await client.call('vm.delete', 1, { force: true })).toBe(true);
  });
});
