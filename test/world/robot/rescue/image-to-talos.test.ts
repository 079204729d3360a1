import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CallInterceptor } from '../../faults/call-interceptor.ts';
import { type ImageFactorySimulator, startImageFactory } from '../../image-factory/index.ts';
import type { MachineDescription } from '../../machine-runner/machine.ts';
import { testNetworkPrefix } from '../../network/test-network.ts';
import { ScaledClock } from '../../scaled-clock.ts';
import { readPartition } from '../../talos/boot/disk-partitions.ts';
import { startTalosRunner, type TalosRunner } from '../../talos/index.ts';
import { findBootableSystem } from '../disks/bootable-system.ts';
import type { DiskContent } from '../disks/disk-content.ts';
import { createRescueFixture, type RescueFixture } from './rescue-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'robot-chain-'));
const [clock, switchboard] = [new ScaledClock(0.002), new CallInterceptor()];
let factory: ImageFactorySimulator;
let talos: TalosRunner;
let image: string;

beforeAll(async () => {
  talos = startTalosRunner({ clock, switchboard, folder });
  const place = { host: '127.0.0.1', port: 0, folder, clock, switchboard, runner: talos, extra: {} };
  factory = await startImageFactory({ ...place, seed: { checksums: true } });
  const answer = await request(`${factory.line.url}/schematics`, { method: 'POST', body: '{}' });
  const { id } = (await answer.body.json()) as { id: string };
  image = `${factory.line.url}/image/${id}/v1.13.9/metal-amd64.raw.zst`;
});
afterAll(async () => {
  await talos.close();
  await factory.close();
  rmSync(folder, { recursive: true, force: true });
});

let servers = 0;

/** The simulator's action when a server starts from a disk. */
function bootFromDisk({ hardware }: RescueFixture): MachineDescription {
  servers += 1;
  const machine: MachineDescription = {
    ...{ name: `robot-${servers}`, uuid: `00000000-0000-4000-8000-00000000000${servers}`, vcpus: 16, memoryMiB: 65536 },
    ...{ firmware: hardware.firmware.kind, cpuModel: 'host', cdroms: [], serialLog: join(folder, `${servers}.log`) },
    disks: hardware.disks.map((disk, order) => ({ ...disk, order })),
    nics: hardware.nics.slice(0, 1).map(({ mac }) => ({
      ...{ mac, bridge: 'public', model: 'e1000' },
      dhcp: { address: `${testNetworkPrefix}.${servers}`, prefix: 26, gateway: `${testNetworkPrefix}.254` },
    })),
  };
  talos.start(machine);
  return machine;
}

const stageOf = (machine: MachineDescription) => () => talos.node(machine.name)?.stage;

it('from a server with an array to Talos in maintenance mode, each step with the real commands', async () => {
  const mirror: DiskContent = { kind: 'raid-member', array: '0' };
  const box = createRescueFixture({
    disks: { nvme0n1: mirror, nvme1n1: mirror, sda: { kind: 'ceph' } },
    diskBytes: 2 ** 32,
  });
  const disk = '/dev/disk/by-id/nvme-eui.00a1b2c3d4e5f601';
  const curl = `curl --fail --silent --show-error --location --url ${image}`;
  const steps = [
    'mdadm --stop /dev/md0',
    'for one in /dev/nvme?n1p1; do wipefs -a -q "$one" || exit 1; done',
    `for one in ${disk} /dev/nvme1n1; do wipefs -a -q "$one" || exit 1; done`,
    `${curl} | zstd -dc | dd of=${disk} bs=4M conv=fsync,nocreat oflag=direct status=none`,
    `sync; blockdev --flushbufs ${disk}; blockdev --rereadpt ${disk}; udevadm settle`,
    `test "$(lsblk -nro PARTLABEL ${disk} | grep . | tr '\\n' ' ')" = "EFI BIOS BOOT META "`,
    'reboot',
  ];
  for (const step of steps) expect([step, (await box.sh(step)).status]).toEqual([step, 0]);
  expect(box.power).toEqual(['reboot']);
  expect(findBootableSystem(box.hardware.disks[0]!, 'uefi')).toEqual({ kind: 'talos' });
  expect(new Set(box.ledger.map(({ serial }) => serial))).toEqual(new Set(['EX9600000001', 'EX9600000002']));
  const machine = bootFromDisk(box);
  await expect.poll(stageOf(machine), { timeout: 10_000 }).toBe('maintenance');
  expect(talos.node(machine.name)?.addresses).toEqual([machine.nics[0]?.dhcp?.address]);
  box.close();
});

it('with the STATE of an earlier installation in place the old system answers', async () => {
  const box = createRescueFixture({
    disks: { nvme0n1: { kind: 'talos', version: '1.12.4', configured: true } },
    diskBytes: 2 ** 32,
  });
  const write = `curl --fail --silent --show-error --location --url ${image} | zstd -dc | dd of=/dev/nvme0n1 bs=4M status=none`;
  expect((await box.sh(write)).status).toBe(0);
  const machine = bootFromDisk(box);
  await expect.poll(() => talos.node(machine.name)?.hostname, { timeout: 10_000 }).toBe('earlier-life');
  await expect.poll(stageOf(machine), { timeout: 10_000 }).toBe('booting');
  // After a wipe it is a new system.
  const other = createRescueFixture({
    disks: { nvme0n1: { kind: 'talos', version: '1.12.4', configured: true } },
    diskBytes: 2 ** 32,
  });
  await other.sh(`dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=100 status=none; ${write}`);
  expect(readPartition(other.hardware.disks[0]?.path ?? '', 'STATE')).toBeUndefined();
  const fresh = bootFromDisk(other);
  await expect.poll(stageOf(fresh), { timeout: 10_000 }).toBe('maintenance');
  box.close();
  other.close();
});

it('a truncated image starts nothing', async () => {
  const box = createRescueFixture({ diskBytes: 2 ** 32 });
  const whole = Buffer.from(await (await request(image)).body.arrayBuffer());
  const headers = { 'content-length': String(whole.length), connection: 'close' };
  const fault = { kind: 'error', status: 200, body: whole.subarray(0, 1_500_000), headers } as const;
  switchboard.fail('image-factory', /raw\.zst$/, fault);
  await box.sh(
    `curl --fail --silent --show-error --location --url ${image} | zstd -dc | dd of=/dev/nvme0n1 bs=4M status=none`,
  );
  expect(findBootableSystem(box.hardware.disks[0]!, 'uefi')).toBeUndefined();
  box.close();
});
