import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../src/talos/gen/machine_pb.ts';
import type { RunningMachine } from '../machine.ts';
import { definitions } from './definitions.ts';
import { readPartition } from './disk.ts';
import { talosRunner } from './index.ts';
import {
  type ConfigOptions,
  connect,
  makeConfig,
  makeSecrets,
  nextMac,
  rewriteBootDisc,
  rewriteSeed,
  startWorld,
  type TestClient,
  type TestSecrets,
  type TestWorld,
  until,
} from './testing.ts';

/**
 * What was seen on real Talos 1.13.9, point by point. A simulator that differs from these is wrong; a controller that assumes
 * otherwise breaks.
 */
let world: TestWorld;
let secrets: TestSecrets;
const clients: TestClient[] = [];

beforeAll(async () => {
  world = await startWorld(0.01);
  secrets = await makeSecrets();
});
afterAll(async () => {
  for (const client of clients) client.close();
  await world.close();
});

const client = async (address: string, known = true): Promise<TestClient> => {
  const made = await connect(address, known ? secrets : undefined);
  clients.push(made);
  return made;
};

function controlPlane(name: string, change: Partial<ConfigOptions> = {}) {
  const address = world.address();
  const config = makeConfig({
    secrets,
    role: 'controlplane',
    hostname: name,
    mac: nextMac(),
    address,
    endpoint: `https://${address}:6443`,
    factory: world.factory.place,
    cluster: { id: Buffer.from(name.padEnd(32, '.')).toString('base64') },
    ...change,
  });
  return { address, config, machine: world.machine(name, { 'user-data': config, 'meta-data': 'instance-id: one\n' }) };
}

/** A node in maintenance mode with a static address from its cidata. */
function maintenance(name: string) {
  const address = world.address();
  const network = {
    version: 2,
    ethernets: { any: { match: { macaddress: nextMac() }, addresses: [`${address}/16`] } },
  };
  return {
    address,
    machine: world.machine(name, { 'meta-data': `local-hostname: ${name}\n`, 'network-config': stringify(network) }),
  };
}

interface Status {
  readonly stage: string;
  readonly status: { readonly ready: boolean; readonly unmetConditions: readonly { name: string; reason: string }[] };
}

async function statusOf(one: TestClient): Promise<Status> {
  const request = { namespace: 'runtime', type: 'MachineStatuses.runtime.talos.dev', id: 'machine' };
  return parse((await one.state.get(request)).resource?.spec?.yamlSpec ?? '') as Status;
}

const hasStage = (one: TestClient, stage: string) =>
  until(`stage ${stage}`, async () => {
    const status = await statusOf(one);
    return status.stage === stage ? status : undefined;
  });

const errorOf = (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: unknown) => ConnectError.from(error),
  );

const isUp = (name: string) =>
  until(`${name} to run from disk`, () => {
    const node = world.runner.node(name);
    return node?.listening && node.console.some((line) => line.includes('from disk')) ? node : undefined;
  });

const off = async (...machines: RunningMachine[]) => {
  for (const machine of machines) machine.kill();
  await Promise.all(machines.map((machine) => machine.exited));
};

describe.concurrent('Talos as it was seen', () => {
  it('1: ready is true in stages maintenance, installing and rebooting, so it says nothing without the stage', async () => {
    const waiting = maintenance('one-a');
    const installing = controlPlane('one-b');
    const machines = [world.start(waiting.machine), world.start(installing.machine)];
    const quiet = await client(waiting.address, false);
    const busy = await client(installing.address);
    expect((await hasStage(busy, 'installing')).status.ready).toBe(true);
    expect((await hasStage(busy, 'rebooting')).status.ready).toBe(true);
    expect((await hasStage(quiet, 'maintenance')).status.ready).toBe(true);
    expect((await hasStage(busy, 'booting')).status.ready).toBe(false);
    await off(...machines);
  });

  it('2: Bootstrap is refused until the node is ready for it, and once etcd has data; a second call right after the first succeeds', async () => {
    const { address, machine } = controlPlane('two');
    const running = world.start(machine);
    const one = await client(address);
    await hasStage(one, 'installing');
    const early = await errorOf(one.machine.bootstrap({}));
    expect([early.code, early.rawMessage]).toEqual([Code.FailedPrecondition, 'bootstrap is not available yet']);
    const refusals = new Set<string>();
    await until('time to be asked for', async () => {
      const error = await errorOf(one.machine.bootstrap({})).catch(() => undefined);
      if (error) refusals.add(`${Code[error.code]}: ${error.rawMessage}`);
      return error === undefined;
    });
    expect([...refusals]).toContain('FailedPrecondition: time is not in sync yet');
    await one.machine.bootstrap({});
    const late = await until('the data directory', async () =>
      errorOf(one.machine.bootstrap({})).catch(() => undefined),
    );
    expect([late.code, late.rawMessage]).toEqual([Code.AlreadyExists, 'etcd data directory is not empty']);
    await off(running);
  });

  it('3: unmetConditions names what is missing', async () => {
    const { address, machine } = controlPlane('three');
    const running = world.start(machine);
    const one = await client(address);
    await isUp('three');
    const names = new Set<string>();
    await until('time and services', async () => {
      const { stage, status } = await statusOf(one);
      if (stage === 'booting') for (const { name } of status.unmetConditions) names.add(name);
      return names.has('time') && names.has('services');
    });
    await until('bootstrap', () => one.machine.bootstrap({}));
    await until('the Node to be missed', async () =>
      (await statusOf(one)).status.unmetConditions.some(({ name }) => name === 'nodeReady'),
    );
    await off(running);
  });

  it('4a: after an installation STATE wins over a changed cidata, and nothing is installed again', async () => {
    const { address, config, machine } = controlPlane('four-a');
    const running = world.start(machine);
    await isUp('four-a');
    await off(running);
    rewriteSeed(machine, { 'user-data': config.replace('four-a', 'renamed') });
    const pulls = world.factory.paths.length;
    const again = world.start(machine);
    await until('the node', () => world.runner.node('four-a')?.listening);
    expect(world.runner.node('four-a')?.hostname).toBe('four-a');
    expect(world.factory.paths.length).toBe(pulls);
    await off(again);
    expect(address).toBeTruthy();
  });

  it('5: nocloud without cidata hangs before maintenance mode more often than not; a power cycle helps', async () => {
    const address = world.address();
    const runner = talosRunner({ ...world, onlyAddress: address });
    const outcomes: boolean[] = [];
    const machine = world.machine('five', null);
    while (outcomes.length < 10) {
      const running = runner.start(machine);
      const node = await until('an outcome', () => {
        const seen = runner.node('five');
        return seen?.stuck || seen?.listening ? seen : undefined;
      });
      outcomes.push(node.stuck !== undefined);
      await off(running);
    }
    await runner.close();
    expect(outcomes).toContain(true);
    expect(outcomes).toContain(false);
  });

  it('6: local-hostname becomes the host name, and network-config finds its link by MAC', async () => {
    const { address, machine } = maintenance('six');
    const running = world.start(machine);
    const one = await client(address, false);
    await hasStage(one, 'maintenance');
    expect(world.runner.node('six')?.hostname).toBe('six');
    const link = `eth0/${address}/16`;
    const found = await one.state.get({ namespace: 'network', type: 'AddressStatuses.net.talos.dev', id: link });
    expect(parse(found.resource?.spec?.yamlSpec ?? '')).toMatchObject({ linkName: 'eth0' });
    await off(running);
  });

  it('7: maintenance mode renews its certificate, shows 132 of 167 types to anybody, and is a stranger to clients of the cluster', async () => {
    const { address, machine } = maintenance('seven');
    const running = world.start(machine);
    const first = await until('a certificate', () => peerCertificate(address));
    expect(first.subject.CN).toBe('maintenance-service.talos.dev');
    await until('another certificate', async () =>
      (await peerCertificate(address)).fingerprint256 !== first.fingerprint256 ? true : undefined,
    );
    const one = await client(address, false);
    const answers = await Promise.all(
      [...definitions.values()].map(async ({ namespace, type }) => {
        try {
          for await (const _ of one.state.list({ namespace, type }));
          return 'ok';
        } catch (error) {
          const { code, rawMessage } = ConnectError.from(error);
          return `${Code[code]}: ${rawMessage}`;
        }
      }),
    );
    const count = (answer: string) => answers.filter((other) => other === answer).length;
    expect([count('ok'), count('PermissionDenied: not authorized')]).toEqual([132, 35]);
    const stranger = await errorOf((await client(address)).machine.version({}));
    expect(stranger.message).toMatch(/certificate/);
    expect((await errorOf(one.machine.metaWrite({ key: 10 }))).code).toBe(Code.PermissionDenied);
    expect((await errorOf(one.machine.bootstrap({}))).code).toBe(Code.PermissionDenied);
    await off(running);
  });

  it('8: a configuration handed to maintenance mode is applied without a reboot, and from then on strangers are refused', async () => {
    const { address, machine } = maintenance('eight');
    const config = makeConfig({
      secrets,
      role: 'controlplane',
      hostname: 'eight',
      mac: machine.nics[0]?.mac ?? '',
      address,
      endpoint: `https://${address}:6443`,
      factory: world.factory.place,
    });
    const running = world.start(machine);
    const one = await client(address, false);
    await hasStage(one, 'maintenance');
    const wrong = await errorOf(
      one.machine.applyConfiguration({ data: Buffer.from(config.replace('token:', 'tokenn:')), mode: Mode.NO_REBOOT }),
    );
    expect(wrong.code).toBe(Code.InvalidArgument);
    expect(wrong.rawMessage).toContain('unknown keys found during decoding:\nmachine:\n    tokenn: ');
    const answer = await one.machine.applyConfiguration({ data: Buffer.from(config), mode: Mode.REBOOT });
    expect(answer.messages[0]).toMatchObject({
      mode: Mode.NO_REBOOT,
      modeDetails: 'Applied configuration without a reboot',
    });
    const second = await errorOf(one.machine.applyConfiguration({ data: Buffer.from(config), mode: Mode.AUTO }));
    expect([second.code, second.rawMessage]).toEqual([Code.PermissionDenied, 'not authorized']);
    await until('mutual TLS', async () => (await client(address)).machine.version({}));
    await off(running);
  });

  it('9: a configured node wants a client certificate; before its API is up the port resets connections', async () => {
    const { address, machine } = controlPlane('nine');
    const running = world.start(machine);
    const codes = new Set<string>();
    await until('the alert', async () => {
      codes.add(await tlsFailure(address));
      return codes.has('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
    });
    expect([...codes]).toContain('ECONNRESET');
    await off(running);
  });

  it('10: the same configuration again changes nothing; a change of the type is refused with the token in the text', async () => {
    const { address, config, machine } = controlPlane('ten');
    const running = world.start(machine);
    await isUp('ten');
    const one = await client(address);
    await until('the node', () => one.machine.version({}));
    const same = await one.machine.applyConfiguration({ data: Buffer.from(config), mode: Mode.AUTO });
    expect(same.messages[0]?.mode).toBe(Mode.NO_REBOOT);
    const worker = makeConfig({
      secrets,
      role: 'worker',
      hostname: 'ten',
      mac: machine.nics[0]?.mac ?? '',
      address,
      endpoint: `https://${address}:6443`,
      factory: world.factory.place,
    });
    const error = await errorOf(one.machine.applyConfiguration({ data: Buffer.from(worker), mode: Mode.NO_REBOOT }));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.rawMessage).toContain("can't be applied in immediate mode");
    expect(error.rawMessage).toContain('abcdef.0123456789abcdef');
    await off(running);
  });

  it('11: Kubeconfig is issued before Kubernetes answers, and host:port is no target for the proxying API', async () => {
    const { address, machine } = controlPlane('eleven');
    const running = world.start(machine);
    await isUp('eleven');
    const one = await client(address);
    await until('the node', () => one.machine.version({}));
    const chunks: Uint8Array[] = [];
    for await (const chunk of one.machine.kubeconfig({})) chunks.push(chunk.bytes);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toContain(`server: https://${address}:6443`);
    const target = await errorOf(one.machine.version({}, { headers: { node: `${address}:50000` } }));
    expect(target.rawMessage).toBe(`invalid target "${address}:50000"`);
    const self = await one.machine.version({}, { headers: { nodes: address } });
    expect(self.messages[0]?.metadata?.hostname).toBe(address);
    await off(running);
  });

  it('12: a reboot goes through stage rebooting (ready), an absent API, and a new boot id', async () => {
    const { address, machine } = controlPlane('twelve');
    const running = world.start(machine);
    await isUp('twelve');
    const one = await client(address);
    const before = await until('a boot id', () => bootId(one));
    const { messages } = await one.machine.reboot({});
    expect(messages[0]?.actorId).toMatch(/^[0-9a-f-]{36}$/);
    expect((await hasStage(one, 'rebooting')).status.ready).toBe(true);
    await until('the API to be gone', async () =>
      (await errorOf(one.machine.version({})).catch(() => undefined))?.code === Code.Unavailable ? true : undefined,
    );
    await until('another boot id', async () => ((await bootId(one)) !== before ? true : undefined));
    await off(running);
  });
});

// One after the other: the fault is for whoever installs next.
describe('Talos as it was seen, when an installation fails', () => {
  it('4b: a failed installation leaves META and STATE behind, so the next boot neither reads cidata nor installs', async () => {
    const { config, machine } = controlPlane('four-b');
    world.switchboard.fail('talos', /^installer$/, { kind: 'error' });
    const running = world.start(machine);
    const stuck = await until('the failure', () => world.runner.node('four-b')?.stuck);
    expect(stuck).toMatch(/install failed/);
    const disk = machine.disks[0]?.path ?? '';
    expect(readPartition(disk, 'BOOT')).toBeUndefined();
    expect(readPartition(disk, 'META')).toBeDefined();
    expect(readPartition(disk, 'STATE')?.config).toBe(config);
    await off(running);
    rewriteSeed(machine, { 'user-data': config.replace('four-b', 'renamed') });
    const again = world.start(machine);
    await until('the node', () => world.runner.node('four-b')?.listening);
    expect(world.runner.node('four-b')?.hostname).toBe('four-b');
    expect(readPartition(disk, 'BOOT')).toBeUndefined();
    await off(again);
  });

  it('4c: a disc with talos.halt_if_installed, as the factory makes it, halts there', async () => {
    const { machine } = controlPlane('four-c');
    rewriteBootDisc(machine, { kernelArguments: ['talos.halt_if_installed=1'] });
    world.switchboard.fail('talos', /^installer$/, { kind: 'error' });
    const running = world.start(machine);
    await until('the failure', () => world.runner.node('four-c')?.stuck);
    await off(running);
    const again = world.start(machine);
    expect(await until('the halt', () => world.runner.node('four-c')?.stuck)).toMatch(/already installed to disk/);
    await off(again);
  });
});

async function bootId(one: TestClient): Promise<string> {
  let text = '';
  for await (const chunk of one.machine.read({ path: '/proc/sys/kernel/random/boot_id' }))
    text += Buffer.from(chunk.bytes).toString();
  return text;
}

function peerCertificate(host: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: 50000, rejectUnauthorized: false, ALPNProtocols: ['h2'] }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** The error code a client without a certificate ends with. */
function tlsFailure(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ host, port: 50000, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
}
