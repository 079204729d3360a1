import { setTimeout as delay } from 'node:timers/promises';
import type { RawClient, TrueNasFixture } from '../../simulators/truenas/testing/true-nas-fixture.ts';

/** The parent of all resources of the reference TrueNAS provider. */
const baseDataset = 'tank/known';
const isoPath = `/mnt/${baseDataset}/talos-iso/image.iso`;

/** It creates these two without a check: an existing dataset counts as success. */
async function ensureDataset(client: RawClient, name: string): Promise<void> {
  const { error } = await client.ask('pool.dataset.create', { name, type: 'FILESYSTEM' });
  if (error && !/already exists/.test(JSON.stringify(error))) throw new Error(JSON.stringify(error));
}

/** The resources that exist before the first machine: the folder with the boot image. */
export async function prepareReferenceProvider(client: RawClient, upload: TrueNasFixture['upload']): Promise<void> {
  await ensureDataset(client, baseDataset);
  await ensureDataset(client, `${baseDataset}/talos-iso`);
  const { text } = await upload(isoPath, 'an image');
  await client.jobEnd(JSON.parse(text).job_id);
}

/**
 * The calls with which the reference provider creates one machine with an existing image, and deletes it again: taken
 * from its source, for one disk, one card and no patches.
 */
export async function runReferenceProvider(client: RawClient, name: string): Promise<void> {
  const datasetOf = (id: string) => client.call('pool.dataset.query', [['id', '=', id]]);
  const vmOf = async (id: number) => (await client.call('vm.query', [['id', '=', id]]))[0];
  const vms = `${baseDataset}/omni-vms`;
  const zvol = `${vms}/${name}`;

  // Checks of the image, the machine's name, the free space and the memory.
  await client.call('filesystem.stat', isoPath);
  await datasetOf(`${baseDataset}/talos-iso`);
  await client.call('vm.query', [['name', '=', name]]);
  await datasetOf('tank');
  await client.call('system.info');
  await client.call('vm.query', [['status.state', '=', 'RUNNING']]);
  // Disk and machine, and a second check of the image before it is attached.
  await ensureDataset(client, baseDataset);
  await ensureDataset(client, vms);
  await client.call('pool.dataset.create', { name: zvol, type: 'VOLUME', volsize: 20 * 2 ** 30 });
  const { id } = await client.call('vm.create', { name, memory: 2048, bootloader: 'UEFI', autostart: true });
  await client.call('filesystem.stat', isoPath);
  await datasetOf(`${baseDataset}/talos-iso`);
  const attach = (order: number, attributes: object) => client.call('vm.device.create', { vm: id, order, attributes });
  await attach(1500, { dtype: 'CDROM', path: isoPath });
  await attach(1000, { dtype: 'DISK', path: `/dev/zvol/${zvol}`, type: 'VIRTIO' });
  // Checks whether another card has the computed MAC address.
  await client.call('vm.device.query');
  await attach(2001, { dtype: 'NIC', type: 'VIRTIO', nic_attach: 'br0' });
  await client.call('vm.start', id);
  // The check a quarter of a minute later, and the one of the next step.
  await vmOf(id);
  await vmOf(id);

  await vmOf(id);
  await client.call('vm.stop', id, { force: false, force_after_timeout: false });
  while ((await vmOf(id)).status.state !== 'STOPPED') await delay(2);
  await client.call('vm.delete', id, { force: true });
  await datasetOf(zvol);
  await client.call('pool.dataset.delete', zvol);
}
