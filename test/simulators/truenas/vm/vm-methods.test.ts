import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';

const gibibyte = 1024 ** 3;

async function open() {
  const nas = await openTrueNas({ seed: { memoryMiB: 8192 } });
  return { ...nas, state: async (id: number) => (await nas.client.call('vm.status', id)).state };
}

describe('vm.create', () => {
  test('the entry has all fields of 25.10 with its defaults', async () => {
    const { client } = await open();
    const { uuid, ...entry } = await client.call('vm.create', { name: 'a', memory: 512 });
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
    [{ name: 'a-b' }, 'name', 'Only alphanumeric characters are allowed.', 22],
    [{ name: 'taken' }, 'name', 'This name already exists.', 17],
    [{ memory: 19 }, 'memory', 'Input should be greater than or equal to 20', 22],
    [{ bootloader: 'BIOS' }, 'bootloader', "Input should be 'UEFI_CSM' or 'UEFI'", 22],
    [{ shutdown_timeout: 4 }, 'shutdown_timeout', 'Input should be greater than or equal to 5', 22],
    [
      { cpu_mode: 'HOST-MODEL', cpu_model: 'EPYC' },
      'cpu_model',
      'This attribute should not be specified when "cpu_mode" is not "CUSTOM".',
      22,
    ],
    [{ cpu_model: 'Z80' }, 'cpu_model', 'Please select a valid CPU model.', 22],
    [{ uuid: 'no uuid' }, 'uuid', 'Value error, UUID is not valid version 4', 22],
    [{ devices: [] }, 'devices', 'Extra inputs are not permitted', 22],
    [{ vcpus: 64, cores: 2, threads: 2 }, 'vcpus', expect.stringContaining('Maximum 255 vcpus are supported.'), 22],
  ])('%j is refused', async (data, field, message, errno) => {
    const { refusals: rejections, vm } = await open();
    await vm({ name: 'taken' });
    expect(await rejections('vm.create', { name: 'a', memory: 512, ...data })).toEqual([
      [`vm_create.${field}`, message, errno],
    ]);
  });

  test('any well-formed uuid is accepted, whatever its version; numbers are not used again', async () => {
    const { client } = await open();
    const uuid = '018f2f6c-5f4b-8aaa-bbbb-0123456789ab';
    expect(await client.call('vm.create', { name: 'a', memory: 512, uuid })).toMatchObject({ id: 1, uuid });
    await client.call('vm.delete', 1);
    expect((await client.call('vm.create', { name: 'a', memory: 512 })).id).toBe(2);
  });

  test('without virtualization no machine is created, and one needs force to be deleted', async () => {
    const { nas, client, vm, refusals: rejections, reason } = await open();
    const id = await vm({});
    Object.assign(nas.simulator.nas, { hasKvm: false });
    expect(await rejections('vm.create', { name: 'b', memory: 512 })).toEqual([
      ['vm_create', 'This system does not support virtualization.', 22],
    ]);
    expect(await client.call('vm.virtualization_details')).toMatchObject({ supported: false });
    expect((await client.call('vm.get_instance', id)).status).toEqual({
      ...{ state: 'ERROR', pid: null, domain_state: 'ERROR' },
    });
    expect(await reason('vm.delete', id)).toBe('[EFAULT] Unable to retrieve VM status. Failed to destroy VM');
    expect(await client.call('vm.delete', id, { force: true })).toBe(true);
  });

  test("S3: a clone has the source's description, and a UUID, disks and cards of its own", async () => {
    const { client, vm } = await open();
    await client.call('pool.dataset.create', { name: 'tank/disk', type: 'VOLUME', volsize: gibibyte });
    const nic = { dtype: 'NIC', nic_attach: 'br0', mac: '02:00:00:00:00:01' };
    const display = { dtype: 'DISPLAY', password: 'secret' };
    const id = await vm({ description: 'ours' }, { dtype: 'DISK', path: '/dev/zvol/tank/disk' }, nic, display);
    expect(await client.call('vm.clone', id, 'copy')).toBe(true);
    const [one, clone] = await client.call('vm.query');
    expect(clone).toMatchObject({ name: 'copy', description: 'ours', status: { state: 'STOPPED' } });
    expect(clone.uuid).not.toBe(one.uuid);
    expect(clone.devices.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject([
      { path: '/dev/zvol/tank/disk_copy' },
      { nic_attach: 'br0', mac: null },
      { port: 5902, web_port: 5903 },
    ]);
  });
});

test('vm.update changes the named fields, except those that are fixed, and never the name of a running machine', async () => {
  const { client, vm, reason, refusals: rejections } = await open();
  const id = await vm({});
  await client.call('vm.start', id);
  expect(await client.call('vm.update', id, { description: 'x' })).toMatchObject({ description: 'x', vcpus: 1 });
  expect(await reason('vm.update', id, { name: 'b' })).toBe('[EFAULT] VM name can only be changed when VM is inactive');
  for (const key of ['bootloader_ovmf', 'reset_nvram'])
    expect(await rejections('vm.update', id, { [key]: true })).toEqual([
      [`vm_update.${key}`, 'Extra inputs are not permitted', 22],
    ]);
});

describe('vm.start', () => {
  test('of a running or suspended machine is refused, and of concurrent starts one succeeds', async () => {
    const { nas, client, vm, state, reason } = await open();
    const id = await vm({});
    const replies = await Promise.all([1, 2, 3].map(() => client.ask('vm.start', id)));
    const refused = replies.flatMap(({ error }) => error?.data.reason ?? []);
    expect(refused).toEqual(Array(2).fill("[EFAULT] 'a' is already running"));
    expect(nas.runner.started).toHaveLength(1);
    expect(await client.call('vm.status', id)).toMatchObject({ domain_state: 'RUNNING', pid: expect.any(Number) });
    await client.call('vm.suspend', id);
    expect(await state(id)).toBe('SUSPENDED');
    expect(await reason('vm.start', id)).toContain('suspended');
    await client.call('vm.resume', id);
    expect(await state(id)).toBe('RUNNING');
  });

  test('S21: only it checks memory; running guests count with their maximum; overcommit does not check', async () => {
    const { client, vm, state } = await open();
    const mebibyte = 1024 * 1024;
    const before = await client.call('vm.get_available_memory');
    expect(before).toBe(Math.floor((8192 - 2048) * 0.9 * mebibyte));
    await client.call('vm.start', await vm({ name: 'a', memory: 4096, min_memory: 1024 }));
    const used = Math.floor(1024 * mebibyte * 0.9) + 3072 * mebibyte;
    expect(before - (await client.call('vm.get_available_memory'))).toBeCloseTo(used, -1);
    const id = await vm({ name: 'c', memory: 2048 });
    expect((await client.ask('vm.start', id)).error?.data).toMatchObject({
      ...{ error: 12, errname: 'ENOMEM', reason: '[ENOMEM] Cannot guarantee memory for guest c' },
    });
    await client.call('vm.start', id, { overcommit: true });
    expect(await state(id)).toBe('RUNNING');
  });

  test.each([
    [{ cpu_mode: 'HOST-PASSTHROUGH' }, { cpuModel: 'host' }],
    [{ cpu_mode: 'HOST-MODEL' }, { cpuModel: 'host' }],
    [{ cpu_mode: 'CUSTOM', cpu_model: 'EPYC' }, { cpuModel: 'EPYC' }],
    [{}, { cpuModel: null, firmware: 'uefi' }],
    [{ memory: 4096, min_memory: 1024 }, { memoryMiB: 1024 }],
    [
      { vcpus: 2, cores: 3, threads: 2, bootloader: 'UEFI_CSM' },
      { vcpus: 12, firmware: 'bios' },
    ],
  ])('%j gives the guest %j', async (row, machine) => {
    const { nas, client, vm } = await open();
    await client.call('vm.start', await vm(row));
    expect(nas.runner.started).toMatchObject([machine]);
  });

  test('the reason why a boot cannot succeed can be read, also after the machine was switched off', async () => {
    const { nas, client, vm } = await open();
    nas.runner.stuck = 'nothing bootable';
    const id = await vm({});
    expect(nas.simulator.stuck('a')).toBeUndefined();
    await client.call('vm.start', id);
    expect(nas.simulator.stuck('a')).toBe('nothing bootable');
    await client.call('vm.poweroff', id);
    expect(nas.simulator.stuck('a')).toBe('nothing bootable');
  });
});

describe('stopping', () => {
  test('S51: a guest that ignores the button still runs, and the job succeeds all the same', async () => {
    const { nas, client, vm, state } = await open();
    nas.runner.minding = false;
    const id = await vm({ shutdown_timeout: 5 });
    await client.call('vm.start', id);
    const stop = async (how: object) => [(await client.job('vm.stop', id, how)).state, await state(id)];
    expect(await stop({})).toEqual(['SUCCESS', 'RUNNING']);
    expect(await stop({ force_after_timeout: true })).toEqual(['SUCCESS', 'STOPPED']);
    await client.call('vm.start', id);
    expect(await stop({ force: true })).toEqual(['SUCCESS', 'STOPPED']);
  });
});

test.each([false, true])('vm.delete switches a machine off and deletes its devices; its zvols: %s', async (zvols) => {
  const { nas, client, vm, refusals: rejections } = await open();
  await client.call('pool.dataset.create', { name: 'tank/v', type: 'VOLUME', volsize: gibibyte });
  const id = await vm({}, { dtype: 'DISK', path: '/dev/zvol/tank/v' });
  expect(await rejections('vm.delete', id, { force_after_timeout: true })).toEqual([
    ['options.force_after_timeout', 'Extra inputs are not permitted', 22],
  ]);
  await client.call('vm.start', id);
  expect(await client.call('vm.delete', id, { zvols })).toBe(true);
  expect([await client.call('vm.query'), await client.call('vm.device.query')]).toEqual([[], []]);
  expect(nas.simulator.nas.datasets.has('tank/v')).toBe(!zvols);
});
