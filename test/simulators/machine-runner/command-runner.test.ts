import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseWorldArguments } from '../../world/command-line.ts';
import { commandRunner } from '../../world/machine-runner/command-runner.ts';
import { isProcessRunning } from '../../world/machine-runner/process-running.ts';
import { simulators } from '../../world/simulators.ts';
import {
  type RawClient,
  startTrueNasFixture,
  type TrueNasFixture,
  waitUntilHolds,
} from '../truenas/testing/true-nas-fixture.ts';

/** A command that records its input, and obeys the button unless it must ignore it. */
const script = `#!/bin/sh
folder=$1
cat >"$folder/document.part" && mv "$folder/document.part" "$folder/document.json"
case $2 in
  fails) echo "no such thing here" >&2; exit 3 ;;
  deaf) trap '' TERM; sleep 600 & echo $! >"$folder/helper.part"; mv "$folder/helper.part" "$folder/helper"; wait ;;
esac
trap 'echo pressed >"$folder/button"; exit 0' TERM
echo ready >"$folder/ready"
while :; do sleep 0.02; done
`;

let folder = '';
let world: TrueNasFixture | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runner-'));
  await writeFile(join(folder, 'command'), script, { mode: 0o755 });
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  await rm(folder, { recursive: true, force: true });
});

const isThere = (name: string): boolean => existsSync(join(folder, name));
const disc = Buffer.from('the bytes that were uploaded');

/** A running VM with the product's configuration. Its disk comes before its CD-ROM. */
async function startVm(how = ''): Promise<{ client: RawClient; vm: number }> {
  world = await startTrueNasFixture({ scale: 0.02, machineRunner: `'${folder}/command' '${folder}' ${how}` });
  const client = await world.login();
  await client.call('pool.dataset.create', {
    name: 'tank/disk',
    type: 'VOLUME',
    volsize: 64 << 20,
    sparse: true,
    volblocksize: '16K',
  });
  await client.call('pool.dataset.create', { name: 'tank/discs' });
  await client.jobEnd(JSON.parse((await world.upload('/mnt/tank/discs/one.iso', disc)).text).job_id);
  const { id: vm } = await client.call('vm.create', {
    name: 'one',
    memory: 512,
    vcpus: 2,
    cpu_mode: 'HOST-PASSTHROUGH',
    autostart: false,
    ensure_display_device: false,
  });
  const devices = [
    [1000, { dtype: 'DISK', path: '/dev/zvol/tank/disk', type: 'VIRTIO' }],
    [1500, { dtype: 'CDROM', path: '/mnt/tank/discs/one.iso' }],
    [2001, { dtype: 'NIC', type: 'VIRTIO', mac: '02:00:00:00:00:01', nic_attach: 'br0' }],
  ];
  for (const [order, attributes] of devices) await client.call('vm.device.create', { vm, order, attributes });
  await client.call('vm.start', vm);
  return { client, vm };
}

const isOff = async (client: RawClient, vm: number): Promise<boolean> =>
  (await client.call('vm.status', vm)).state === 'STOPPED';

/** Waits until the NAS reports that the VM is off. */
async function awaitOff(client: RawClient, vm: number): Promise<void> {
  await expect.poll(() => isOff(client, vm), { timeout: 10_000 }).toBe(true);
}

describe('a VM as a process of a command', () => {
  test('gets everything in one document, with the real files, so that any program can be the hypervisor', async () => {
    const { client, vm } = await startVm();
    await waitUntilHolds(() => isThere('document.json'), 'the document is there');
    const document = JSON.parse(await readFile(join(folder, 'document.json'), 'utf8'));
    const [device] = await client.call('vm.device.query', [['attributes.dtype', '=', 'DISK']]);
    const { uuid } = await client.call('vm.get_instance', vm);
    expect(document).toStrictEqual({
      name: `${vm}_one`,
      uuid,
      vcpus: 2,
      memoryMiB: 512,
      firmware: 'uefi',
      cpuModel: 'host',
      disks: [{ path: expect.any(String), sizeBytes: 64 << 20, serial: device.attributes.serial, order: 1 }],
      cdroms: [{ path: expect.any(String), order: 2 }],
      nics: [{ mac: '02:00:00:00:00:01', bridge: 'br0' }],
      serialLog: expect.any(String),
    });
    const disk = await stat(document.disks[0].path);
    expect([disk.size, disk.blocks]).toEqual([64 << 20, 0]);
    expect((await readFile(document.cdroms[0].path)).equals(disc)).toBe(true);
    for (const path of [document.disks[0].path, document.cdroms[0].path, document.serialLog]) {
      expect(isAbsolute(path)).toBe(true);
    }
    await writeFile(document.serialLog, 'its folder is there', { flag: 'a' });
  });

  test('runs while the process runs, gets the button as SIGTERM, and is off when the process ends', async () => {
    const { client, vm } = await startVm();
    await waitUntilHolds(() => isThere('ready'), 'it runs');
    const { state, pid } = await client.call('vm.status', vm);
    expect([state, isProcessRunning(pid)]).toEqual(['RUNNING', true]);
    expect((await client.job('vm.stop', vm)).state).toBe('SUCCESS');
    expect(await readFile(join(folder, 'button'), 'utf8')).toBe('pressed\n');
    await awaitOff(client, vm);
    expect(isProcessRunning(pid)).toBe(false);
    expect(world?.simulator.stuck('one')).toBeUndefined();
  });

  test('is shown as stopped when the process ends by itself, and the test controls report why', async () => {
    const { client, vm } = await startVm('fails');
    await awaitOff(client, vm);
    expect(world?.simulator.stuck('one')).toMatch(/ended with 3\nno such thing here$/);
  });

  test('that ignores the button is ended by the power switch, with every process that it started', async () => {
    const { client, vm } = await startVm('deaf');
    await waitUntilHolds(() => isThere('helper'), 'it runs');
    const helper = Number(await readFile(join(folder, 'helper'), 'utf8'));
    await client.job('vm.stop', vm);
    expect((await client.call('vm.status', vm)).state).toBe('RUNNING');
    await client.call('vm.poweroff', vm);
    await awaitOff(client, vm);
    await waitUntilHolds(() => !isProcessRunning(helper), 'its helper is gone');
  });

  test('ends with the NAS', async () => {
    const { client, vm } = await startVm('deaf');
    await waitUntilHolds(() => isThere('helper'), 'it runs');
    const { pid } = await client.call('vm.status', vm);
    await world?.close();
    world = undefined;
    await waitUntilHolds(() => !isProcessRunning(pid), 'it is gone');
  });
});

test('gets absolute paths, also with a relative folder of the simulators', async () => {
  const machine = commandRunner(`'${folder}/command' '${folder}' fails`).start({
    ...{ name: 'one', uuid: '6d1b1a4e-0c9e-4a3e-9d5d-0d5d6b1a2c3d', vcpus: 1, memoryMiB: 64 },
    ...{ firmware: 'bios', cpuModel: null, nics: [], serialLog: 'log/one.log' },
    disks: [{ path: 'zvol/one.img', sizeBytes: 1, serial: 'a', order: 1, bus: 'virtio' }],
    cdroms: [{ path: 'root/one.iso', order: 2 }],
  });
  await machine.exited;
  const { disks, cdroms, serialLog } = JSON.parse(await readFile(join(folder, 'document.json'), 'utf8'));
  expect([disks[0].path, cdroms[0].path, serialLog]).toEqual(
    ['zvol/one.img', 'root/one.iso', 'log/one.log'].map((path) => join(process.cwd(), path)),
  );
});

test('reports a command that does not exist', async () => {
  const machine = commandRunner('/nowhere/qemu').start({
    ...{ name: 'one', uuid: '6d1b1a4e-0c9e-4a3e-9d5d-0d5d6b1a2c3d', vcpus: 1, memoryMiB: 64 },
    ...{ firmware: 'bios', cpuModel: null, disks: [], cdroms: [], nics: [], serialLog: '/nowhere/log' },
  });
  await machine.exited;
  expect(machine.stuck).toMatch(/^\/nowhere\/qemu ended with 12[67]\n.*not found/);
});

test('the command line of the NAS names the command', () => {
  expect(
    parseWorldArguments(['truenas', '--machine-runner', 'qemu --fast', '--listen', '10.5.0.1:443'], simulators),
  ).toMatchObject({
    listen: { host: '10.5.0.1', port: 443 },
    extra: { 'machine-runner': 'qemu --fast' },
  });
});
