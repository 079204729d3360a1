import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { buildMachineSeed, seedSizes } from '../../support/fixtures/machine-seed.ts';
import { buildGuestDisc, guestDiscLabel, installedMarker } from '../../world/machine-runner/guest/guest-disc.ts';
import { findGuestParts } from '../../world/machine-runner/guest/guest-parts.ts';
import { createNetworkNamespace, type NetworkNamespace } from '../../world/machine-runner/network-namespace.ts';
import { isProcessRunning } from '../../world/machine-runner/process-running.ts';
import { findQemu, ovmfMissing } from '../../world/machine-runner/qemu-host.ts';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../truenas/testing/true-nas-fixture.ts';

const command = join(import.meta.dirname, '../../world/machine-runner/qemu');
const qemu = findQemu();
const parts = findGuestParts();
const missing =
  typeof qemu === 'string' ? qemu : !qemu.ovmf ? ovmfMissing : typeof parts === 'string' ? parts : undefined;

/** For emulation on a busy machine. */
const patienceMilliseconds = 240_000;
const gibibyte = 1024 ** 3;
/**
 * The usual configuration, and the minimal one. The kernel of the guest mounts both, which verifies our discs with
 * foreign code.
 */
const seeds = seedSizes.map(buildMachineSeed);
const mac = seeds[0]?.mac ?? '';

let world: TrueNasFixture;
let client: RawClient;
let network: NetworkNamespace | string = 'not tried';
let vm = 0;

/** The machine's serial output since its creation. */
const serialOutput = (): string => {
  const path = join(world.simulator.nas.folder, 'log', `${vm}_one.log`);
  return existsSync(path) ? readFileSync(path, 'latin1') : '';
};
const facts = (name: string): string[] =>
  [...serialOutput().matchAll(new RegExp(`^fact ${name} (.*?)\r?$`, 'gm'))].map((match) => match[1] ?? '');

async function awaitFact(text: string): Promise<void> {
  const byDeadline = Date.now() + patienceMilliseconds;
  while (!serialOutput().includes(text)) {
    if (world.simulator.nas.vms.get(vm)?.guest === undefined)
      throw new Error(`it is off: ${world.simulator.stuck('one')}\n${serialOutput()}`);
    if (Date.now() > byDeadline) throw new Error(`it never said ${text}:\n${serialOutput()}`);
    // A connection is closed after a minute of silence, and a slow machine takes longer.
    await client.call('core.ping');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const state = async (): Promise<string> => (await client.call('vm.status', vm)).state;

/**
 * The calls of the product: zvols, two uploads, a VM, its devices. The second disk verifies that disks are
 * distinguished.
 */
async function makeVm(disc: Buffer): Promise<void> {
  await client.call('pool.dataset.create', { name: 'tank/vm' });
  for (const [name, volsize] of [
    ['first', gibibyte],
    ['second', gibibyte / 2],
  ] as const) {
    const zvol = { name: `tank/vm/${name}`, type: 'VOLUME', volsize, sparse: true, volblocksize: '16K' };
    await client.call('pool.dataset.create', zvol);
  }
  for (const [name, content] of [
    ['boot.iso', disc],
    ...seeds.map(({ fileName, image }) => [fileName, image] as const),
  ] as const) {
    const answer = await world.upload(`/mnt/tank/vm/${name}`, content);
    expect((await client.jobEnd(JSON.parse(answer.text).job_id)).state).toBe('SUCCESS');
  }
  const row = { vcpus: 2, memory: 512, cpu_mode: 'HOST-PASSTHROUGH', autostart: false, ensure_display_device: false };
  vm = (await client.call('vm.create', { name: 'one', ...row })).id;
  const devices = [
    [1000, { dtype: 'DISK', path: '/dev/zvol/tank/vm/first', type: 'VIRTIO' }],
    [1500, { dtype: 'CDROM', path: '/mnt/tank/vm/boot.iso' }],
    ...seeds.map(({ fileName }, index) => [1501 + index, { dtype: 'CDROM', path: `/mnt/tank/vm/${fileName}` }]),
    [1600, { dtype: 'DISK', path: '/dev/zvol/tank/vm/second', type: 'VIRTIO' }],
    [2001, { dtype: 'NIC', type: 'VIRTIO', mac, nic_attach: 'br0' }],
  ];
  for (const [order, attributes] of devices) await client.call('vm.device.create', { vm, order, attributes });
}

describeUnlessMissing('a VM of the simulated NAS as a real machine by QEMU', missing, () => {
  beforeAll(async () => {
    if (missing !== undefined || typeof parts === 'string') return;
    network = await createNetworkNamespace('192.0.2.1/24', 'machines');
    const unplugged = typeof network === 'string' ? ['MACHINE_NETWORK=unplugged'] : [];
    // There are machines whose KVM accepts a guest and never runs it.
    const settings = ['env', 'MACHINE_ACCELERATOR=tcg', ...unplugged];
    const where = typeof network === 'string' ? settings : [...network.enter, ...settings];
    // Button and power switch are polled in simulated time: a timeout of 90 s is 36 s here.
    world = await startTrueNasFixture({ scale: 0.4, machineRunner: [...where, `'${command}'`].join(' ') });
    client = await world.login();
    await makeVm(buildGuestDisc(parts, 5));
    await client.call('vm.start', vm);
    await awaitFact('fact waiting');
  }, patienceMilliseconds);
  afterAll(async () => {
    if (missing !== undefined) return;
    await world.close();
    if (typeof network !== 'string') await network.close();
  });

  it('boots by UEFI from the CD-ROM while the disk before it is empty', () => {
    expect(facts('booted')).toEqual(['disc']);
    expect(facts('firmware')).toEqual(['uefi']);
  });

  it("has the UUID, processors and memory of the NAS's entry, and a processor that Talos supports", async () => {
    const { uuid } = await client.call('vm.get_instance', vm);
    expect(facts('uuid')).toEqual([uuid]);
    expect(facts('processors')).toEqual(['2']);
    const kibibytes = Number(facts('memory')[0]);
    expect(kibibytes).toBeGreaterThan(384 * 1024);
    expect(kibibytes).toBeLessThan(512 * 1024);
    // The seven flags of x86-64-v2 that older levels lack.
    expect(facts('x86-64-v2')).toEqual(['7']);
  });

  it('has the disks of the NAS, by size and serial, and no others', async () => {
    const disks = await client.call('vm.device.query', [['attributes.dtype', '=', 'DISK']]);
    const serial = (name: string) =>
      disks.find(({ attributes }: { attributes: { path: string } }) => attributes.path.endsWith(name)).attributes
        .serial;
    expect(facts('disk').map((line) => line.split(' ').slice(1).join(' '))).toEqual([
      `${gibibyte} ${serial('first')}`,
      `${gibibyte / 2} ${serial('second')}`,
    ]);
  });

  it('has the CD-ROMs and its MAC address', () => {
    expect(facts('disc')).toEqual([
      expect.stringMatching(`^sr0 \\d+ ${guestDiscLabel}$`),
      ...seeds.map(({ image }, index) => `sr${index + 1} ${image.length} cidata`),
    ]);
    expect(facts('nic')).toEqual([mac]);
  });

  it('mounts the cidata volumes, by both kinds of names, and finds exactly the files that Talos reads', () => {
    const wanted = seeds.flatMap(({ machineConfig }, index) =>
      ['ro', 'ro,nojoliet', 'ro,norock'].map((options) => ({
        mounted: `sr${index + 1} ${options}`,
        names: ['meta-data', 'network-config', 'user-data'],
        userData: `${machineConfig.length} ${createHash('sha256').update(machineConfig).digest('hex')}`,
      })),
    );
    const lines = facts('file').map((line) => line.split(' '));
    const found = wanted.map(({ mounted }) => {
      const files = lines.filter((words) => words.slice(0, 2).join(' ') === mounted);
      return {
        mounted,
        names: files.map(([, , name]) => name).sort(),
        userData: files
          .find(([, , name]) => name === 'user-data')
          ?.slice(3)
          .join(' '),
      };
    });
    expect(found).toEqual(wanted);
  });

  it('answers on the bridge at the address of its network-config', async ({ skip }) => {
    if (typeof network === 'string') return skip(network);
    const script = "fetch('http://192.0.2.21/').then((a) => a.text()).then((t) => process.stdout.write(t))";
    const answer = await network.ask([process.execPath, '-e', script]);
    expect(answer.trim()).toBe((await client.call('vm.get_instance', vm)).uuid);
  });

  it('powers off by the ACPI button, and the NAS shows it', { timeout: patienceMilliseconds }, async () => {
    expect((await client.job('vm.stop', vm, {})).state).toBe('SUCCESS');
    await expect.poll(state, { timeout: 60_000 }).toBe('STOPPED');
    expect(serialOutput()).toContain('fact button');
    expect(world.simulator.stuck('one')).toBeUndefined();
  });

  it('boots from the disk once it is bootable, although the CD-ROM still is', {
    timeout: patienceMilliseconds,
  }, async () => {
    await client.call('vm.start', vm);
    await awaitFact(installedMarker);
    expect(facts('booted')).toEqual(['disc', 'disk']);
  });

  it('ends at once by the power switch, with QEMU', async () => {
    const { pid } = await client.call('vm.status', vm);
    const [child] = spawnSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' })
      .stdout.trim()
      .split('\n');
    expect(isProcessRunning(Number(child))).toBe(true);
    await client.call('vm.poweroff', vm);
    expect(await state()).toBe('STOPPED');
    await expect.poll(() => isProcessRunning(Number(child)), { timeout: 10_000 }).toBe(false);
  });

  it('ends QEMU when it is killed itself, for any reason', async () => {
    await client.call('vm.start', vm);
    const { pid } = await client.call('vm.status', vm);
    const children = () => spawnSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' }).stdout.trim();
    await expect.poll(children, { timeout: 30_000 }).not.toBe('');
    const child = Number(children());
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isProcessRunning(child), { timeout: 10_000 }).toBe(false);
    await expect.poll(state, { timeout: 10_000 }).toBe('STOPPED');
    expect(world.simulator.stuck('one')).toMatch(/ended by SIGKILL/);
  });
});
