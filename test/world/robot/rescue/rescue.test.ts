import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import { CallInterceptor } from '../../faults/call-interceptor.ts';
import { ScaledClock } from '../../scaled-clock.ts';
import type { DiskWrite } from '../hardware.ts';
import { makeSshKey } from '../setup/ssh-key.ts';
import { makeTestHardware, type RescueFixtureOptions } from './rescue-fixture.ts';
import { type RunningRescue, startForeignLinux, startRescueOverSsh } from './start-rescue.ts';

const key = makeSshKey();
const otherKey = makeSshKey();
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const switchboard = new CallInterceptor();

function makeOptions(change: RescueFixtureOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'rescue-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const ledger: DiskWrite[] = [];
  const power: string[] = [];
  return {
    host: '127.0.0.1',
    port: 0,
    serverNumber: 3140017,
    address: '203.0.113.41',
    gateway: '203.0.113.1',
    hardware: makeTestHardware(folder, change),
    rootPassword: 'Kq7wTz2mXc9v' as string | null,
    authorizedKeys: [`${key.public} somebody@example`],
    clock: new ScaledClock(0.001),
    switchboard,
    onWrite: (write: DiskWrite) => ledger.push(write),
    onPower: (kind: string) => power.push(kind),
    memoryMiB: 65536,
    ledger,
    power,
  };
}

async function start(change: Partial<ReturnType<typeof makeOptions>> = {}): Promise<RunningRescue> {
  const running = await startRescueOverSsh({ ...makeOptions(), ...change });
  closers.push(() => running.close());
  return running;
}

/** Logs in, or rejects. */
function login(port: number, change: ConnectConfig = {}): Promise<{ client: ssh2.Client; hostKey: string }> {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    let hostKey = '';
    client.on('ready', () => {
      closers.push(() => void client.end());
      resolve({ client, hostKey });
    });
    client.on('error', reject);
    client.connect({
      ...{ host: '127.0.0.1', port, username: 'root', privateKey: key.private },
      hostVerifier: (blob: Buffer) => {
        hostKey = `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
        return true;
      },
      ...change,
    });
  });
}

const open = (client: ssh2.Client, command: string): Promise<ClientChannel> =>
  new Promise((resolve, reject) =>
    client.exec(command, (error, channel) => (error ? reject(error) : resolve(channel))),
  );

/** Runs a command to its end; the status is undefined without an exit status. */
async function exec(client: ssh2.Client, command: string, input: string | Buffer = '') {
  const channel = await open(client, command);
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  let status: number | undefined;
  channel.on('data', (bytes: Buffer) => output.push(bytes));
  channel.stderr.on('data', (bytes: Buffer) => errors.push(bytes));
  channel.end(input);
  await new Promise<void>((resolve) => {
    channel.on('close', (code?: number | null) => {
      status = code ?? undefined;
      resolve();
    });
  });
  return { stdout: Buffer.concat(output).toString(), stderr: Buffer.concat(errors).toString(), status };
}

describe('login', () => {
  it('accepts root with an armed key and with the password', async () => {
    const { port } = await start();
    const { client } = await login(port);
    expect(await exec(client, 'cat /proc/sys/kernel/hostname')).toEqual({ stdout: 'rescue\n', stderr: '', status: 0 });
    await login(port, { privateKey: undefined as never, password: 'Kq7wTz2mXc9v' });
  });

  it.each([
    ['another user', { username: 'admin' }],
    ['another key', { privateKey: otherKey.private }],
    ['a wrong password', { privateKey: undefined as never, password: 'no' }],
  ])('refuses %s', async (_what, change) => {
    const { port } = await start();
    await expect(login(port, change)).rejects.toThrow(/authentication methods failed/);
  });

  it('accepts no password where none was set', async () => {
    const { port } = await start({ rootPassword: null });
    await expect(login(port, { privateKey: undefined as never, password: '' })).rejects.toThrow();
    await login(port);
  });

  it('has a new host key and a new boot id at each boot, and reports both', async () => {
    const [one, two] = [await start(), await start()];
    expect(one.hostKey).not.toBe(two.hostKey);
    const { client, hostKey } = await login(one.port);
    expect(hostKey).toBe(one.hostKey);
    const { stdout } = await exec(client, 'cat /proc/sys/kernel/random/boot_id');
    expect(stdout).toBe(`${one.bootId}\n`);
    expect(one.bootId).not.toBe(two.bootId);
  });
});

describe('commands over SSH', () => {
  it('are scripts for dash: pipefail is for bash', async () => {
    const { client } = await login((await start()).port);
    const refused = await exec(client, 'set -o pipefail; echo no');
    expect(refused).toEqual({ stdout: '', stderr: 'sh: 1: set: Illegal option -o pipefail\n', status: 2 });
    expect((await exec(client, "bash -c 'x=1; exit $x'")).status).toBe(1);
  });

  it("get the client's input byte for byte, at the speed of their reads", async () => {
    const { client } = await login((await start()).port);
    const bytes = Buffer.alloc(3 * 2 ** 20, randomUUID());
    const { stdout } = await exec(client, 'sha256sum', bytes);
    expect(stdout).toBe(`${createHash('sha256').update(bytes).digest('hex')}  -\n`);
  });

  it('run in parallel on one connection, each with its own status', async () => {
    const { client } = await login((await start()).port);
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map((number) => exec(client, `echo ${number} >&2; exit ${number}`)),
    );
    expect(outcomes.map(({ stderr, status }) => [stderr, status])).toEqual([
      ['1\n', 1],
      ['2\n', 2],
      ['3\n', 3],
      ['4\n', 4],
    ]);
  });

  it('continue after the client disconnects: a broken connection stops no dd', async () => {
    const options = makeOptions();
    const running = await start(options);
    const { client } = await login(running.port);
    await open(client, 'sleep 50; echo late | dd of=/dev/nvme0n1 status=none');
    client.on('error', () => undefined);
    running.cut();
    await expect.poll(() => options.ledger.map(({ by, length }) => `${by} ${length}`)).toEqual(['dd 5']);
  });

  it('can be cut off in the middle of their input and of their output', async () => {
    const { port } = await start();
    const ended = (client: NodeJS.EventEmitter): Promise<void> =>
      new Promise((resolve) => client.on('close', () => resolve()));
    switchboard.fail('robot', /^ssh cat >/, { kind: 'cut', of: 'request', bytes: 1000 });
    const { client: sender } = await login(port);
    sender.on('error', () => undefined);
    exec(sender, 'cat >/tmp/sent; echo $? >/tmp/status', Buffer.alloc(5000, 'x')).catch(() => undefined);
    await ended(sender);
    switchboard.fail('robot', /^ssh seq/, { kind: 'cut', of: 'answer', bytes: 7 });
    const { client: listener } = await login(port);
    listener.on('error', () => undefined);
    const heard: Buffer[] = [];
    const channel = await open(listener, 'seq 1000; echo >/tmp/went-on');
    channel.on('data', (chunk: Buffer) => heard.push(chunk));
    await ended(listener);
    expect(Buffer.concat(heard).toString()).toBe('1\n2\n3\n4');
    const { client } = await login(port);
    await expect
      .poll(async () => (await exec(client, 'wc -c </tmp/sent; cat /tmp/status; echo /tmp/went*')).stdout)
      .toBe('1000\n0\n/tmp/went-on\n');
  });

  it('end with a power cut', async () => {
    const running = await start();
    const { client } = await login(running.port);
    const ended = new Promise<void>((resolve) => client.on('close', () => resolve()));
    const waiting = exec(client, 'sleep 100000').catch((error: unknown) => error);
    await running.close();
    await ended;
    await waiting;
  });

  it('are calls of the simulator, and get its faults', async () => {
    const { client } = await login((await start()).port);
    switchboard.fail('robot', /^ssh nproc/, { kind: 'error', status: 5, body: 'no' });
    expect(await exec(client, 'nproc')).toEqual({ stdout: '', stderr: 'no\n', status: 5 });
    expect(switchboard.calls.at(-1)).toMatchObject({
      room: 'robot',
      name: 'ssh nproc',
      detail: { server: 3140017 },
    });
    switchboard.fail('robot', /^ssh echo/, { kind: 'lose-reply' });
    const closed = new Promise<void>((resolve) => client.on('close', () => resolve()));
    exec(client, 'echo >/tmp/done').catch(() => undefined);
    await closed;
  });
});

describe('reboot', () => {
  it('closes its channel without a status, while other commands still get answers', async () => {
    const options = makeOptions();
    const { client } = await login((await start(options)).port);
    const [outcome, other] = [await exec(client, 'sync; reboot'), await exec(client, 'cat /proc/sys/kernel/hostname')];
    expect(outcome).toEqual({ stdout: '', stderr: '', status: undefined });
    expect(other).toEqual({ stdout: 'rescue\n', stderr: '', status: 0 });
    expect(options.power).toEqual(['reboot']);
  });
});

describe('a foreign Linux', () => {
  const installed = { hostname: 'rescue', rootDevice: 'nvme0n1p3', hetznerBuild: true };

  it('can name itself rescue and accept our key; its root is a disk', async () => {
    const options = makeOptions({ disks: { nvme0n1: { kind: 'linux', hostname: 'rescue' } } });
    const running = await startForeignLinux({ ...options, ...installed });
    closers.push(() => running.close());
    const { client } = await login(running.port);
    const { stdout } = await exec(
      client,
      'cat /proc/sys/kernel/hostname; findmnt -no FSTYPE /; findmnt -no SOURCE /; cat /etc/hetzner-build /etc/motd',
    );
    expect(stdout).toBe('rescue\next4\n/dev/nvme0n1p3\ninstallimage\n\n');
  });

  it('keeps its host key over boots', async () => {
    const options = makeOptions({ disks: { nvme0n1: { kind: 'linux', hostname: 'rescue' } } });
    const one = await startForeignLinux({ ...options, ...installed });
    await one.close();
    const two = await startForeignLinux({ ...options, ...installed });
    closers.push(() => two.close());
    expect(two.hostKey).toBe(one.hostKey);
    expect(two.bootId).not.toBe(one.bootId);
  });
});
