import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CallInterceptor } from '../../../../test/world/faults/call-interceptor.ts';
import type { DiskWrite } from '../../../../test/world/robot/hardware.ts';
import { makeTestHardware, type RescueFixtureOptions } from '../../../../test/world/robot/rescue/rescue-fixture.ts';
import {
  type RescueOptions,
  type RunningRescue,
  startForeignLinux,
  startRescueOverSsh,
} from '../../../../test/world/robot/rescue/start-rescue.ts';
import { makeRawImage, serveImage } from '../../../../test/world/robot/rescue/test-raw-image.ts';
import { makeSshKey } from '../../../../test/world/robot/setup/ssh-key.ts';
import { ScaledClock } from '../../../../test/world/scaled-clock.ts';
import type { CompletedCall } from '../../../lib/observers.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { openRescue, publicKeyOf, type RescueAccess } from './connect.ts';
import { type RescueClient, rescueMismatch } from './rescue-client.ts';

// Each test simulates a whole operating system.
vi.setConfig({ testTimeout: 30_000 });

const [key, unknown] = [makeSshKey(), makeSshKey()];
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Bench {
  readonly running: RunningRescue;
  readonly ledger: DiskWrite[];
  readonly power: string[];
  readonly hardware: RescueOptions['hardware'];
  readonly switchboard: CallInterceptor;
  readonly access: RescueAccess;
  readonly calls: CompletedCall[];
  login(change?: Partial<RescueAccess>, options?: { seconds?: number; signal?: AbortSignal }): Promise<RescueClient>;
}

type Foreign = { hostname: string; rootDevice: string; hetznerBuild: boolean };

async function bench(change: RescueFixtureOptions = {}, foreign?: Foreign): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'rescue-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const [ledger, power, calls]: [DiskWrite[], string[], CompletedCall[]] = [[], [], []];
  const [switchboard, hardware] = [new CallInterceptor(), makeTestHardware(folder, { diskBytes: 2 ** 28, ...change })];
  const options = {
    ...{ host: '127.0.0.1', port: 0, serverNumber: 3140017, address: '203.0.113.41', gateway: '203.0.113.1' },
    ...{ hardware, switchboard, clock: new ScaledClock(0.001), memoryMiB: 65536, authorizedKeys: [key.public] },
    // With little memory an image is split into small blocks.
    ramDiskMiB: 48,
    onWrite: (write: DiskWrite) => void ledger.push(write),
    onPower: (kind: string) => void power.push(kind),
  };
  const running = foreign
    ? await startForeignLinux({ ...options, ...foreign })
    : await startRescueOverSsh({ ...options, rootPassword: null });
  closers.push(() => running.close());
  const access = {
    address: '127.0.0.1',
    port: running.port,
    privateKey: new SecretString(key.private),
    hostKey: undefined,
  };
  const login: Bench['login'] = async (other = {}, { seconds = 5, signal = new AbortController().signal } = {}) => {
    const rescue = await openRescue(
      { ...access, ...other },
      { signal, seconds, observer: (call) => void calls.push(call) },
    );
    closers.push(() => rescue.close());
    return rescue;
  };
  return { running, ledger, power, hardware, switchboard, access, calls, login };
}

const disk = { serial: 'EX9600000001', wwn: 'eui.00a1b2c3d4e5f601' };

describe('the login', () => {
  it('succeeds with our key, and returns the host key', async () => {
    const { running, login, calls } = await bench();
    const rescue = await login();
    expect(rescue.hostKey).toBe(running.hostKey);
    expect((await login({ hostKey: running.hostKey })).hostKey).toBe(running.hostKey);
    expect(calls.map(({ system, name, result }) => [system, name, result])).toEqual([
      ['rescue', 'login', 'ok'],
      ['rescue', 'login', 'ok'],
    ]);
  });

  it('with another key is refused', async () => {
    const { login } = await bench();
    await expect(login({ privateKey: new SecretString(unknown.private) })).rejects.toMatchObject({
      code: 'RESCUE_LOGIN_REFUSED',
    });
  });

  it('B15: is not attempted when the host key is not the pinned one', async () => {
    const [one, two] = [await bench(), await bench()];
    const refused = one.login({ hostKey: two.running.hostKey });
    await expect(refused).rejects.toMatchObject({ code: 'RESCUE_HOST_KEY_CHANGED' });
    await expect(refused).rejects.toThrow(one.running.hostKey);
  });

  it('fails when no server answers', async () => {
    const { login, running } = await bench();
    await running.close();
    await expect(login()).rejects.toMatchObject({ code: 'RESCUE_UNREACHABLE' });
  });

  it('fails when the server accepts the connection and stays silent', async () => {
    const unresponsive = createServer(() => undefined).listen(0, '127.0.0.1');
    closers.push(() => void unresponsive.close());
    await new Promise((resolve) => unresponsive.once('listening', resolve));
    const { port } = unresponsive.address() as { port: number };
    const { login } = await bench();
    const refused = login({ port }, { seconds: 0.05 });
    await expect(refused).rejects.toMatchObject({ code: 'RESCUE_UNREACHABLE' });
    await expect(refused).rejects.toThrow(/timeout/);
  });

  it('ends with the signal of the caller', async () => {
    const { login } = await bench();
    const end = new AbortController();
    const opening = login({}, { signal: end.signal });
    end.abort(new Error('shutdown'));
    await expect(opening).rejects.toThrow('shutdown');
  });

  it.each([
    ['no key', 'nonsense'],
    ['nothing', ''],
    ['the public half', key.public],
    [
      'one with a passphrase',
      ssh2.utils.generateKeyPairSync('ed25519', { cipher: 'aes256-ctr', rounds: 1, passphrase: 'x' }).private,
    ],
  ])('a Secret holds %s', async (_what, text) => {
    const { login } = await bench();
    const refused = login({ privateKey: new SecretString(text) });
    await expect(refused).rejects.toMatchObject({ code: 'SSH_KEY_INVALID' });
    if (text !== '') await expect(refused).rejects.not.toThrow(text);
  });

  it.each([
    ['ed25519', makeSshKey],
    ['rsa', () => ssh2.utils.generateKeyPairSync('rsa', { bits: 2048 })],
    ['ecdsa', () => ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })],
  ] as const)('the public half of a key of type %s is one line', (_type, makePair) => {
    const pair = makePair();
    expect(publicKeyOf(new SecretString(`\n${pair.private}\n\n`))).toBe(pair.public.split(' ').slice(0, 2).join(' '));
  });
});

describe('the identity', () => {
  it('of the rescue system has three proofs and its further facts', async () => {
    const { running, login } = await bench();
    const identity = await (await login()).identify();
    expect(identity).toMatchObject({
      ...{ hostname: 'rescue', rootDevice: '', rootType: 'tmpfs', motdIsRescue: true, firmware: 'uefi' },
      ...{ bootId: running.bootId, mac: '02:00:5e:00:00:01' },
    });
    expect(rescueMismatch(identity, { mac: '02:00:5e:00:00:01', otherThanBootId: 'earlier' })).toBeUndefined();
  });

  it.each([
    ['a Debian of ours with the files of the provider', 'web1', /web1/],
    ['one that calls itself rescue', 'rescue', /nvme0n1p3/],
  ])('%s, which is never written to', async (_what, hostname, reason) => {
    const content = { kind: 'linux', hostname, hetznerBuild: true } as const;
    const foreign = { hostname, rootDevice: 'nvme0n1p3', hetznerBuild: true };
    const { login, ledger } = await bench(
      { disks: { nvme0n1: content, nvme1n1: { kind: 'ext4' } }, diskBytes: 2 ** 32 },
      foreign,
    );
    const rescue = await login();
    expect(rescueMismatch(await rescue.identify(), {})).toMatch(reason);
    await expect
      .poll(() => rescue.wipe('one', [{ serial: 'EX9600000002', wwn: '' }]))
      .toMatchObject({
        ...{ kind: 'failed', code: 'RESCUE_FOREIGN_SYSTEM' },
      });
    expect(ledger).toEqual([]);
  });
});

describe('the inventory', () => {
  it('P24: has every field that a choice of disks depends on', async () => {
    const { login } = await bench({
      disks: { nvme0n1: { kind: 'talos', version: '1.12.4', configured: true }, sda: { kind: 'ceph' } },
    });
    const { disks, ...rest } = await (await login()).inspect();
    expect(rest).toEqual({
      cpu: { model: 'AMD Ryzen 7 PRO 8700GE', threads: 16 },
      memoryMiB: 64553,
      firmware: 'uefi',
      nics: [
        { name: 'eth0', mac: '02:00:5e:00:00:01', speedMbps: 1000 },
        { name: 'eth1', mac: '02:00:5e:00:00:02', speedMbps: 0 },
      ],
    });
    expect(disks).toMatchObject([
      {
        ...{ name: 'nvme0n1', type: 'nvme', ...disk, sizeBytes: 2 ** 28, sectorBytes: 512, arrays: [] },
        byId: '/dev/disk/by-id/nvme-EXAMPLE_NV960_EX9600000001',
        holds: expect.arrayContaining(['xfs on nvme0n1p5, named "STATE"', 'a partition nvme0n1p4, named "META"']),
      },
      {
        ...{
          name: 'sda',
          type: 'hdd',
          serial: 'EXHD0002',
          wwn: '0x5000c500aabbcc02',
          holds: ['ceph_bluestore on sda'],
        },
        byId: '/dev/disk/by-id/ata-EXAMPLE_HD4000_EXHD0002',
      },
    ]);
  });

  it('H7: has the health of the disks, and one that hangs does not delay it', async () => {
    const blank = { kind: 'blank' } as const;
    const { login } = await bench({
      disks: { nvme0n1: blank, nvme1n1: blank, nvme2n1: blank, sda: blank, sdb: blank, sdc: blank },
      smart: { nvme0n1: 'silent', nvme1n1: 'failing', nvme2n1: 'hot', sda: 'failing', sdb: 'worn', sdc: 'none' },
    });
    const rescue = await login();
    const { disks } = await rescue.inspect();
    expect(Object.fromEntries(disks.map((one) => [one.name, [one.health, one.healthMessage]]))).toEqual({
      nvme0n1: ['Unknown', 'smartctl timed out'],
      nvme1n1: ['Failing', 'reliability is degraded, 12 media errors'],
      nvme2n1: ['Passed', 'the temperature is out of range'],
      sda: [
        'Failing',
        'Reallocated_Sector_Ct is below its threshold, 2040 sectors were reallocated, 16 sectors are pending reallocation',
      ],
      sdb: ['Passed', '8 sectors were reallocated'],
      sdc: ['Unknown', 'Unable to detect device type'],
    });
    // Once more, while the first process still hangs.
    expect((await rescue.inspect()).disks.map(({ powerOnHours }) => powerOnHours)).toEqual([
      ...[undefined, 31416, 31416, 31416, 31416],
      undefined,
    ]);
  });

  it('is read once udev has the links', async () => {
    const { login } = await bench({ udevSeconds: 0.01 });
    expect((await (await login()).inspect()).disks.map(({ wwn, byId }) => [wwn !== '', byId !== ''])).toEqual([
      [true, true],
      [true, true],
    ]);
  });
});

describe('the boot order of the firmware', () => {
  it('P10, P14, P15, P16: has network entries first, and no entry of the wiped system', async () => {
    const { login, hardware } = await bench({ disks: { nvme0n1: { kind: 'linux', hostname: 'web1' } } });
    hardware.firmware.order = ['0003', '0000', '0002'];
    const rescue = await login();
    const order = ['UEFI: PXE IPv4 Intel Network', 'debian', 'UEFI OS'];
    expect(await rescue.bootOrder()).toEqual({ firmware: 'uefi', order, removed: [], networkFirst: true });
    expect(hardware.firmware.order).toEqual(['0002', '0003', '0000']);
    await expect.poll(() => rescue.wipe('one', [disk])).toMatchObject({ kind: 'done' });
    expect(await rescue.bootOrder()).toMatchObject({ order: order.slice(0, 1), removed: ['UEFI OS', 'debian'] });
    expect(hardware.firmware.entries.map(({ label }) => label)).toEqual(order.slice(0, 1));
    expect(await rescue.bootOrder()).toMatchObject({ removed: [] });
  });

  it('of a BIOS is not changed', async () => {
    const { login } = await bench({ firmware: 'bios' });
    expect(await (await login()).bootOrder()).toEqual({ firmware: 'bios' });
  });

  it('is not taken for that of a BIOS when a command fails', async () => {
    const { login, switchboard } = await bench();
    const rescue = await login();
    switchboard.fail('robot', /^ssh/, { kind: 'error', status: 1, body: '' });
    await expect(rescue.bootOrder()).rejects.toMatchObject({ code: 'RESCUE_COMMAND_FAILED' });
    expect(await rescue.bootOrder()).toMatchObject({ firmware: 'uefi' });
  });

  it('is read back, and a board that keeps its own order is reported', async () => {
    const { login, hardware } = await bench();
    const { firmware } = hardware;
    Object.defineProperty(firmware, 'order', { get: () => ['0003', '0002'], set: () => undefined });
    await expect((await login()).bootOrder()).rejects.toMatchObject({ code: 'RESCUE_BOOT_ORDER_REFUSED' });
  });
});

describe('the end of a rescue system', () => {
  it('is a reboot, whose channel closes without a status', async () => {
    const { login, power } = await bench();
    await (await login()).reboot();
    expect(power).toEqual(['reboot']);
  });

  it('a lost connection is reported', async () => {
    const { login, running } = await bench();
    const rescue = await login();
    running.cut();
    await expect(rescue.identify()).rejects.toMatchObject({ code: 'RESCUE_UNREACHABLE' });
    await expect(rescue.identify()).rejects.toMatchObject({ code: 'RESCUE_UNREACHABLE' });
  });

  it('a server that hangs is left after the timeout', async () => {
    const { login, switchboard, calls } = await bench();
    const end = new AbortController();
    const rescue = await login({}, { signal: end.signal });
    switchboard.fail('robot', /^ssh/, { kind: 'silence', milliseconds: 60_000 });
    const asked = rescue.identify();
    setTimeout(() => end.abort(new DOMException('no answer within 1 s', 'TimeoutError')), 20);
    await expect(asked).rejects.toThrow(/within 1 s/);
    expect(calls.at(-1)).toMatchObject({ name: 'identify', result: 'cancelled' });
  });

  it('a failed command reports the reason', async () => {
    const { login, switchboard } = await bench();
    const rescue = await login();
    switchboard.fail('robot', /^ssh/, { kind: 'error', status: 7, body: 'no space\nleft' });
    await expect(rescue.inspect()).rejects.toMatchObject({ code: 'RESCUE_COMMAND_FAILED' });
    switchboard.fail('robot', /^ssh/, { kind: 'error', status: 7, body: 'no space\nleft' });
    await expect(rescue.inspect()).rejects.toThrow(/inspect: status 7: no space left/);
  });
});

describe('a write continues without the client', () => {
  it.each([
    ['a cut connection', (running: RunningRescue) => running.cut()],
    ['a client that closed', (_: RunningRescue, rescue: RescueClient) => rescue.close()],
  ])('after %s, and is found again', { timeout: 20_000 }, async (_what, leave) => {
    const { login, running, ledger } = await bench();
    const raw = makeRawImage(20);
    let goOn = (): void => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const served = await serveImage(raw, {
      send: (response, packed) => {
        const max = Math.floor(packed.length * 0.95);
        response.write(packed.subarray(0, max));
        void gate.then(() => response.end(packed.subarray(max)));
      },
    });
    closers.push(served.close);
    const image = { url: served.url, compression: 'zst', sha256: served.sha256 } as const;
    const first = await login();
    expect(await first.write('one', disk, image)).toMatchObject({ kind: 'running' });
    await expect.poll(() => served.requests()).toBe(1);
    leave(running, first);
    const second = await login();
    expect(await second.write('one', disk, image)).toMatchObject({ kind: 'running' });
    // Another job waits for this one.
    expect(await second.wipe('two', [disk])).toMatchObject({ kind: 'running' });
    goOn();
    const end = { kind: 'done', facts: { bytes: raw.length, compressedSha256: served.sha256, checkedBy: 'checksum' } };
    await expect.poll(() => second.write('one', disk, image), { timeout: 5000 }).toEqual(end);
    expect(served.requests()).toBe(1);
    await expect.poll(() => second.wipe('two', [disk]), { timeout: 5000 }).toMatchObject({ kind: 'done' });
    expect(new Set(ledger.map(({ serial }) => serial))).toEqual(new Set([disk.serial]));
  });

  it('whose answer was lost has started', async () => {
    const { login, switchboard } = await bench();
    switchboard.fail('robot', /^ssh/, { kind: 'lose-reply' });
    await expect((await login()).wipe('one', [disk])).rejects.toMatchObject({ code: 'RESCUE_UNREACHABLE' });
    const again = await login();
    await expect.poll(() => again.wipe('one', [disk])).toMatchObject({ kind: 'done', facts: { bytes: 2 ** 25 } });
  });
});
