import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const gibibyte = 1024 ** 3;

describe('the lifecycle of one machine', () => {
  let nas: TrueNasFixture;
  let client: RawClient;

  beforeEach(async () => {
    nas = await startTrueNasFixture();
    client = await nas.login();
  });
  afterEach(() => nas.close());

  test('all calls of a provisioner, and back to exactly the initial state', async () => {
    const before = nas.room.dump();
    await client.call('pool.dataset.create', { name: 'tank/talos' });
    await client.call('pool.dataset.create', { name: 'tank/talos/vm1' });
    await client.call('pool.dataset.create', { name: 'tank/talos/disk', type: 'VOLUME', volsize: 10 * gibibyte });
    const { status, text } = await nas.upload('/mnt/tank/talos/vm1/seed.iso', 'an image', { mode: 0o644 });
    expect(status).toBe(200);
    expect((await client.jobEnd(JSON.parse(text).job_id)).state).toBe('SUCCESS');
    const vm = await client.call('vm.create', { name: 'vm1', memory: 2048, cpu_mode: 'HOST-PASSTHROUGH' });
    for (const device of [
      { order: 1000, attributes: { dtype: 'DISK', type: 'VIRTIO', path: '/dev/zvol/tank/talos/disk' } },
      { order: 1500, attributes: { dtype: 'CDROM', path: '/mnt/tank/talos/vm1/seed.iso' } },
      { order: 2001, attributes: { dtype: 'NIC', type: 'VIRTIO', mac: '02:00:00:00:00:99', nic_attach: 'br0' } },
    ]) {
      await client.call('vm.device.create', { vm: vm.id, ...device });
    }
    await client.call('vm.start', vm.id);
    expect((await client.call('vm.get_instance', vm.id)).status.state).toBe('RUNNING');
    expect(nas.runner.started).toMatchObject([
      {
        name: `${vm.id}_vm1`,
        memoryMiB: 2048,
        firmware: 'uefi',
        cpuModel: 'host',
        disks: [{ order: 1, bus: 'virtio', sizeBytes: 10 * gibibyte }],
        cdroms: [{ order: 2 }],
        nics: [{ mac: '02:00:00:00:00:99', bridge: 'br0', model: 'virtio' }],
      },
    ]);
    expect((await client.job('vm.stop', vm.id)).state).toBe('SUCCESS');
    expect((await client.call('vm.status', vm.id)).state).toBe('STOPPED');
    expect(await client.call('vm.delete', vm.id)).toBe(true);
    expect(await client.call('pool.dataset.delete', 'tank/talos', { recursive: true })).toBe(true);
    expect(nas.room.dump()).toEqual(before);
  });
});
