import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import { CallInterceptor } from '../../../world/faults/call-interceptor.ts';
import type { DiskWrite } from '../../../world/robot/hardware.ts';
import { makeTestHardware } from '../../../world/robot/rescue/rescue-fixture.ts';
import { startForeignLinux, startRescueOverSsh } from '../../../world/robot/rescue/start-rescue.ts';
import { makeSshKey } from '../../../world/robot/setup/ssh-key.ts';
import { ScaledClock } from '../../../world/scaled-clock.ts';

// Logins, detached jobs and reboots are tested with the client of the product (rescue-client.test.ts).

const key = makeSshKey();
const switchboard = new CallInterceptor();
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function makeOptions() {
  const folder = mkdtempSync(join(tmpdir(), 'rescue-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const ledger: DiskWrite[] = [];
  return {
    ...{ host: '127.0.0.1', port: 0, serverNumber: 3140017, address: '203.0.113.41', gateway: '203.0.113.1' },
    ...{ hardware: makeTestHardware(folder), memoryMiB: 65536, clock: new ScaledClock(0.001), switchboard },
    ...{ rootPassword: 'Kq7wTz2mXc9v' as string | null, authorizedKeys: [`${key.public} somebody@example`] },
    onWrite: (write: DiskWrite) => ledger.push(write),
    onPower: () => {},
    ledger,
  };
}

async function start(change: Partial<ReturnType<typeof makeOptions>> = {}) {
  const running = await startRescueOverSsh({ ...makeOptions(), ...change });
  closers.push(() => running.close());
  return running;
}

/** Logs in, or rejects. */
function login(port: number, change: ConnectConfig = {}): Promise<ssh2.Client> {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    closers.push(() => void client.end());
    client.on('ready', () => resolve(client)).on('error', reject);
    client.connect({ host: '127.0.0.1', port, username: 'root', privateKey: key.private, ...change });
  });
}

const open = (client: ssh2.Client, command: string): Promise<ClientChannel> =>
  new Promise((resolve, reject) =>
    client.exec(command, (error, channel) => (error ? reject(error) : resolve(channel))),
  );

const closed = (client: NodeJS.EventEmitter): Promise<void> =>
  new Promise((resolve) => client.on('close', () => resolve()));

/** Runs a command to its end. */
async function exec(client: ssh2.Client, command: string, input: string | Buffer = '') {
  const channel = await open(client, command);
  const [output, errors]: Buffer[][] = [[], []];
  channel.on('data', (bytes: Buffer) => output?.push(bytes));
  channel.stderr.on('data', (bytes: Buffer) => errors?.push(bytes));
  channel.end(input);
  const status = await new Promise((resolve) => channel.on('close', resolve));
  const [stdout, stderr] = [output, errors].map((bytes) => Buffer.concat(bytes ?? []).toString());
  return { stdout, stderr, status };
}

it.each([
  ['another user', {}, { username: 'admin' }],
  ['a wrong password', {}, { privateKey: undefined as never, password: 'no' }],
  ['a password where none was set', { rootPassword: null }, { privateKey: undefined as never, password: '' }],
])('the login refuses %s', async (_what, change, credentials) => {
  const { port } = await start(change);
  await expect(login(port, credentials)).rejects.toThrow(/authentication methods failed/);
});

it('a foreign Linux keeps its host key over boots, and has another boot id', async () => {
  const installed = { hostname: 'rescue', rootDevice: 'nvme0n1p3', hetznerBuild: true };
  const options = makeOptions();
  const one = await startForeignLinux({ ...options, ...installed });
  await one.close();
  const two = await startForeignLinux({ ...options, ...installed });
  closers.push(() => two.close());
  expect(two.hostKey).toBe(one.hostKey);
  expect(two.bootId).not.toBe(one.bootId);
});

describe('commands over SSH', () => {
  it('are scripts for dash, each with its own input and status on one connection', async () => {
    const client = await login((await start()).port);
    const refused = await exec(client, 'set -o pipefail; echo no');
    expect(refused).toEqual({ stdout: '', stderr: 'sh: 1: set: Illegal option -o pipefail\n', status: 2 });
    const numbers = [1, 2, 3, 4];
    const outcomes = await Promise.all(numbers.map((number) => exec(client, 'read -r n; exit $n', `${number}\n`)));
    expect(outcomes.map(({ status }) => status)).toEqual(numbers);
  });

  it('can be cut off in the middle of their input and of their output, and go on', async () => {
    const { port } = await start();
    switchboard.fail('robot', /^ssh cat >/, { kind: 'cut', of: 'request', bytes: 1000 });
    const sender = await login(port);
    sender.on('error', () => undefined);
    exec(sender, 'cat >/tmp/sent; echo $? >/tmp/status', Buffer.alloc(5000, 'x')).catch(() => undefined);
    await closed(sender);
    switchboard.fail('robot', /^ssh seq/, { kind: 'cut', of: 'answer', bytes: 7 });
    const listener = await login(port);
    listener.on('error', () => undefined);
    const heard: Buffer[] = [];
    const channel = await open(listener, 'seq 1000; echo >/tmp/went-on');
    channel.on('data', (chunk: Buffer) => heard.push(chunk));
    await closed(listener);
    expect(Buffer.concat(heard).toString()).toBe('1\n2\n3\n4');
    const client = await login(port);
    await expect
      .poll(async () => (await exec(client, 'wc -c </tmp/sent; cat /tmp/status; echo /tmp/went*')).stdout)
      .toBe('1000\n0\n/tmp/went-on\n');
  });

  it('end with a power cut', async () => {
    const running = await start();
    const client = await login(running.port);
    const ended = closed(client);
    const waiting = exec(client, 'sleep 100000').catch((error: unknown) => error);
    await running.close();
    await ended;
    await waiting;
  });

  it('are calls of the simulator, and get its faults', async () => {
    const client = await login((await start()).port);
    switchboard.fail('robot', /^ssh nproc/, { kind: 'error', status: 5, body: 'no' });
    expect(await exec(client, 'nproc')).toEqual({ stdout: '', stderr: 'no\n', status: 5 });
    expect(switchboard.calls.at(-1)).toMatchObject({
      simulator: 'robot',
      name: 'ssh nproc',
      detail: { server: 3140017 },
    });
    switchboard.fail('robot', /^ssh echo/, { kind: 'lose-reply' });
    const ended = closed(client);
    exec(client, 'echo >/tmp/done').catch(() => undefined);
    await ended;
  });
});
