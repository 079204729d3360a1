import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'ssh2';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { testNetworkPrefix } from '../../world/network/test-network.ts';
import { type RobotSimulator, startRobotSimulator } from '../../world/robot/index.ts';
import { makeSshKey } from '../../world/robot/setup/ssh-key.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { startTalosRunner, type TalosRunner } from '../../world/talos/index.ts';

const address = `${testNetworkPrefix}.11`;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The complete simulator: real bytes on disks, simulated Talos, and a fast clock. */
async function start(server: object): Promise<{ simulator: RobotSimulator; talos: TalosRunner }> {
  const folder = await mkdtemp(join(tmpdir(), 'robot-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const [clock, switchboard] = [new ScaledClock(0.005), new CallInterceptor()];
  const runner = startTalosRunner({ clock, switchboard, folder });
  closers.push(() => runner.close());
  const seed = { network: testNetworkPrefix, servers: [{ number: 7, memoryMiB: 4096, ...server }] };
  const place = {
    host: `${testNetworkPrefix}.1`,
    port: 0,
    folder,
    clock,
    switchboard,
    runner,
    extra: { 'ssh-port': 'any' },
  };
  const simulator = await startRobotSimulator({ ...place, seed });
  closers.push(() => simulator.close());
  return { simulator, talos: runner };
}

const quick = { timeout: 20_000, interval: 20 };
/** Calls the webservice with its own credentials. */
async function callWebservice({ line, ca }: RobotSimulator, call: string, form?: Readonly<Record<string, string>>) {
  const [method = '', path = ''] = call.split(' ');
  const dispatcher = new Agent({ connect: { ca } });
  const { user, password } = line.credentials;
  const headers = {
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  };
  const body = form && new URLSearchParams(form).toString();
  const options = { method: method as 'GET', headers, dispatcher, ...(body !== undefined && { body }) };
  const answer = await request(`${line.url}${path}`, options);
  const text = await answer.body.text();
  await dispatcher.destroy();
  if (answer.statusCode >= 400) throw new Error(text);
  return text === '' ? undefined : JSON.parse(text);
}

/** Runs one command as root, and returns its output. */
function run(
  simulator: RobotSimulator,
  login: { privateKey?: string; password?: string },
  command: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    client.on('error', reject).on('ready', () => {
      client.exec(command, (error, channel) => {
        if (error) return reject(error);
        let out = '';
        channel.on('data', (chunk: Buffer) => {
          out += chunk.toString('utf8');
        });
        channel.on('close', () => {
          client.end();
          resolve(out.trim());
        });
      });
    });
    const port = Number(simulator.line.credentials['sshPort']);
    client.connect({ host: address, port, username: 'root', readyTimeout: 5000, ...login });
  });
}

const withTalos = (version: string) => ({
  disks: [
    { serial: 'S1', sizeBytes: 64_000_000_000, content: { kind: 'talos', version, configured: false } },
    { serial: 'S2', content: { kind: 'ceph' } },
  ],
});
const inMaintenance = (talos: TalosRunner) => async (): Promise<unknown> => {
  const node = talos.node('robot-7');
  return node?.stage === 'maintenance' && node.listening;
};

describe('a server with Talos on its disk', () => {
  it('boots it, and it waits in maintenance mode at the main address, which DHCP offered', async () => {
    const { simulator, talos } = await start(withTalos('1.13.9'));
    await expect.poll(inMaintenance(talos), quick).toBe(true);
    expect(talos.node('robot-7')).toMatchObject({ addresses: [address], stuck: undefined });
    expect(simulator.servers()[0]).toMatchObject({ phase: 'talos', bootCount: 1 });
  });

  it('does not enter the rescue system by a reboot of Talos, which is a kexec and bypasses the firmware', async () => {
    const { simulator, talos } = await start(withTalos('1.13.9'));
    await expect.poll(inMaintenance(talos), quick).toBe(true);
    talos.reboot('robot-7');
    await expect.poll(() => talos.node('robot-7')?.listening, quick).toBe(false);
    await expect.poll(inMaintenance(talos), quick).toBe(true);
    expect(simulator.servers()[0]?.bootCount).toBe(1);
  });

  it('that is reset loses it at once, and boots it again at the same address', async () => {
    const { simulator, talos } = await start(withTalos('1.12.7'));
    await expect.poll(inMaintenance(talos), quick).toBe(true);
    simulator.server(7).machine.reset('hw');
    await expect.poll(() => talos.node('robot-7')?.listening, quick).toBe(false);
    await expect.poll(inMaintenance(talos), quick).toBe(true);
    expect(simulator.servers()[0]?.history).toEqual(['off', 'post', 'network', 'talos', 'post', 'network', 'talos']);
    expect(simulator.writes().map(({ serial, by }) => `${by} ${serial}`)).toContain('talos S1');
    expect(simulator.writes().filter(({ serial }) => serial === 'S2')).toEqual([]);
  });
});

describe('a server in the rescue system', () => {
  it('is reached with the key or the password of the activation, and leads to any content of its disks', async () => {
    const { simulator } = await start({ disks: [{ serial: 'S1', model: 'WORLD ONE' }] });
    const key = makeSshKey();
    const { fingerprint } = (await callWebservice(simulator, 'POST /key', { name: 'test', data: key.public })).key;
    const { password } = (
      await callWebservice(simulator, 'POST /boot/7/rescue', { os: 'linux', 'authorized_key[]': fingerprint })
    ).rescue;
    await callWebservice(simulator, 'POST /reset/7', { type: 'hw' });
    await expect.poll(() => simulator.servers()[0]?.phase, quick).toBe('rescue');
    const mine = { privateKey: key.private };
    expect(await run(simulator, mine, 'cat /proc/sys/kernel/hostname')).toBe('rescue');
    expect(await run(simulator, { password }, 'cat /proc/sys/kernel/random/boot_id')).toBe(
      simulator.servers()[0]?.bootId,
    );
    await expect(run(simulator, { password: 'no' }, 'cat /proc/sys/kernel/hostname')).rejects.toThrow();
    expect(simulator.writes()).toEqual([]);
    await run(simulator, mine, 'printf hello >/dev/disk/by-id/nvme-WORLD_ONE_S1');
    expect(simulator.writes(7)).toMatchObject([{ serverNumber: 7, serial: 'S1', offset: 0, length: 5 }]);
    await run(simulator, mine, 'reboot');
    await expect.poll(() => simulator.servers()[0]?.phase, quick).toBe('nothing');
    expect(simulator.servers()[0]?.history.slice(-3)).toEqual(['post', 'network', 'nothing']);
    await expect(run(simulator, mine, 'cat /proc/sys/kernel/hostname')).rejects.toThrow('ECONNREFUSED');
  });

  it('differs from an installed Linux, which still refuses the key', async () => {
    const key = makeSshKey();
    const content = { kind: 'linux', hostname: 'files', authorizedKeys: [key.public], answersSsh: true };
    const { simulator } = await start({ disks: [{ content }] });
    expect(simulator.servers()[0]?.phase).toBe('linux');
    expect(await run(simulator, { privateKey: key.private }, 'cat /proc/sys/kernel/hostname')).toBe('files');
    await expect(run(simulator, { privateKey: makeSshKey().private }, 'true')).rejects.toThrow();
  });
});
