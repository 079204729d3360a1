import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import { resourceTypes } from '../../../world/talos/state/resource-types.ts';
import {
  makeConfig,
  rewriteCidata,
  startTalosTestBed,
  type TalosTestBed,
  type TestClient,
} from '../testing/talos-test-bed.ts';
import {
  awaitBootFromDisk,
  awaitEtcdRunning,
  awaitStage,
  errorOf,
  messageOfRejection,
  readMachineStatus,
  sharedTestSecrets,
  startTestCluster,
} from '../testing/test-cluster.ts';

const secrets = await sharedTestSecrets();

/**
 * The observed behaviour of real Talos 1.13.9, point by point. A simulator that differs is wrong; a controller that
 * assumes otherwise breaks.
 */
describe('the observed behaviour of Talos', () => {
  it('1: ready is true in stages maintenance, installing and rebooting, so the stage matters', async () => {
    const { world, client } = await startTestCluster('one');
    const node = await client();
    expect((await awaitStage(world, node, 'installing')).status.ready).toBe(true);
    expect((await awaitStage(world, node, 'rebooting')).status.ready).toBe(true);
    expect((await awaitStage(world, node, 'booting')).status.ready).toBe(false);
    const idle = await startTestCluster('one-idle', { maintenance: true });
    expect((await awaitStage(idle.world, await idle.client(null), 'maintenance')).status.ready).toBe(true);
  });

  it('2: Bootstrap is refused until the node is ready for it, and once etcd has data; a second call right after the first succeeds', async () => {
    const { world, client } = await startTestCluster('two');
    const node = await client();
    const service = async (id: string) =>
      (await node.machine.serviceList({})).messages[0]?.services.some((one) => one.id === id);
    await awaitStage(world, node, 'installing');
    expect(await messageOfRejection(node.machine.bootstrap({}))).toBe(
      'FailedPrecondition: bootstrap is not available yet',
    );
    await world.until('the CRI', () => service('cri'));
    expect(await messageOfRejection(world.during(node.machine.bootstrap({})))).toBe(
      'FailedPrecondition: time is not in sync yet',
    );
    await world.until('trustd, which waits for time', () => service('trustd'));
    await node.machine.bootstrap({});
    await node.machine.bootstrap({});
    await awaitEtcdRunning(world, node.machine);
    const late = await errorOf(node.machine.bootstrap({}));
    expect([late.code, late.rawMessage]).toEqual([Code.AlreadyExists, 'etcd data directory is not empty']);
  });

  it('§14: repeated Bootstrap calls keep etcd from starting, and its service reports its state', async () => {
    const { world, client } = await startTestCluster('again');
    const node = await client();
    const etcd = async () => {
      const { services = [] } = (await node.machine.serviceList({})).messages[0] ?? {};
      const one = services.find(({ id }) => id === 'etcd');
      return { state: one?.state, output: one?.events?.events.map(({ msg }) => msg) ?? [] };
    };
    await world.until('etcd that waits for a bootstrap', async () => (await etcd()).state === 'Preparing');
    expect((await etcd()).output.at(-1)).toBe('Running pre state');
    for (let call = 0; call < 4; call += 1) {
      await node.machine.bootstrap({});
      let passed = false;
      void world.clock.sleep(5).then(() => {
        passed = true;
      });
      await world.until('five seconds', () => passed);
      expect((await etcd()).state).toBe('Preparing');
    }
    expect((await etcd()).output).toContain('Sending SIGTERM to Process(etcd)');
    const stopped = 'etcd: error pulling image: context canceled';
    expect(world.runner.node('again')?.console.filter((line) => line.includes(stopped)).length).toBeGreaterThan(2);
    await world.until('etcd', async () => (await etcd()).state === 'Running');
  });

  it('§14: members are listed by a node whose etcd runs, and queried locally; else the call hangs', async () => {
    const edit = (text: string): string => {
      const [main = '', ...rest] = text.split('---\n');
      const config = parse(main);
      config.cluster.discovery = { enabled: false };
      config.machine.network.interfaces[0].vip = { ip: new URL(config.cluster.controlPlane.endpoint).hostname };
      return [stringify(config), ...rest].join('---\n');
    };
    const { world, client } = await startTestCluster('hangs', { edit });
    const node = await client();
    const hangs = async (queryLocal: boolean): Promise<void> => {
      const error = await errorOf(node.machine.etcdMemberList({ queryLocal }, { timeoutMs: 300 }));
      expect(error.code).toBe(Code.DeadlineExceeded);
    };
    await world.until('the bootstrap', () => world.during(node.machine.bootstrap({})));
    await hangs(true);
    await awaitEtcdRunning(world, node.machine);
    await hangs(false);
    expect((await node.machine.etcdMemberList({ queryLocal: true })).messages[0]?.members).toHaveLength(1);
  });

  it('3: unmetConditions names the missing conditions', async () => {
    const { world, client } = await startTestCluster('three');
    const node = await client();
    const names = async () => (await readMachineStatus(node)).status.unmetConditions.map(({ name }) => name);
    await awaitStage(world, node, 'booting');
    expect(await names()).toEqual(['time', 'services', 'nodeReady']);
    await world.until('bootstrap', () => world.during(node.machine.bootstrap({})));
    await world.until('everything but the Node', async () => (await names()).join() === 'nodeReady');
    await world.until('nothing missing', async () => (await names()).length === 0);
  });

  it('4: after an installation STATE wins over a changed cidata, and nothing is installed again', async () => {
    const one = await startTestCluster('four-a');
    await awaitBootFromDisk(one);
    rewriteCidata(one.machine, { 'user-data': one.config.replace('four-a', 'renamed') });
    const pulls = one.world.factory.paths.length;
    await one.again();
    expect((await awaitBootFromDisk(one)).hostname).toBe('four-a');
    expect(one.world.factory.paths.length).toBe(pulls);
  });

  const failing = {
    prepare: (world: TalosTestBed) => world.switchboard.fail('talos', /^installer$/, { kind: 'error' }),
  };

  it('4: a failed installation leaves META and STATE behind, so the next boot neither reads cidata nor installs', async () => {
    const one = await startTestCluster('four-b', failing);
    const { world, machine, config } = one;
    expect(await world.until('the failure', () => world.runner.node('four-b')?.stuck)).toMatch(/install failed/);
    const disk = machine.disks[0]?.path ?? '';
    expect(readPartition(disk, 'BOOT')).toBeUndefined();
    expect(readPartition(disk, 'META')).toBeDefined();
    expect(readPartition(disk, 'STATE')?.config).toBe(config);
    rewriteCidata(machine, { 'user-data': config.replace('four-b', 'renamed') });
    await one.again();
    const node = await world.until('the node', () => {
      const seen = world.runner.node('four-b');
      return seen?.listening && seen.stage === 'booting' && seen;
    });
    expect(node.hostname).toBe('four-b');
    expect(readPartition(disk, 'BOOT')).toBeUndefined();
  });

  it('4: from a disc with talos.halt_if_installed, as the factory builds it, that boot halts', async () => {
    const one = await startTestCluster('four-c', {
      ...failing,
      image: { kernelArguments: ['talos.halt_if_installed=1'] },
    });
    await one.world.until('the failure', () => one.world.runner.node('four-c')?.stuck);
    await one.again();
    expect(await one.world.until('the halt', () => one.world.runner.node('four-c')?.stuck)).toMatch(
      /already installed to disk/,
    );
  });

  it('5: nocloud without cidata usually hangs before maintenance mode; a power cycle helps', async () => {
    const world = await startTalosTestBed('stepped');
    onTestFinished(() => world.close());
    const made = world.machine('five', null);
    const dhcp = { address: world.address(), prefix: 16, gateway: '127.42.0.1' };
    const machine = { ...made, nics: made.nics.map((nic) => ({ ...nic, dhcp })) };
    const hung: boolean[] = [];
    while (hung.length < 20) {
      const running = world.start(machine);
      const node = await world.until('an outcome', () => {
        const seen = world.runner.node('five');
        return (seen?.stuck !== undefined || seen?.listening) && seen;
      });
      hung.push(node.stuck !== undefined);
      running.kill();
      await running.exited;
    }
    expect(hung.filter((one) => one).length).toBe(12);
  });

  it('6: local-hostname becomes the host name, and network-config finds its link by MAC', async () => {
    const { world, address, client } = await startTestCluster('six', { maintenance: true });
    const node = await client(null);
    await awaitStage(world, node, 'maintenance');
    expect(world.runner.node('six')?.hostname).toBe('six');
    const found = await node.state.get({
      namespace: 'network',
      type: 'AddressStatuses.net.talos.dev',
      id: `eth0/${address}/16`,
    });
    expect(parse(found.resource?.spec?.yamlSpec ?? '')).toMatchObject({ linkName: 'eth0' });
  });

  it('7: maintenance mode renews its certificate, hides secrets; cluster clients distrust it', async () => {
    const { world, address, client } = await startTestCluster('seven', { maintenance: true });
    const first = await world.until('a certificate', () => peerCertificate(address));
    expect(first.subject.CN).toBe('maintenance-service.talos.dev');
    await world.until(
      'another one',
      async () => (await peerCertificate(address)).fingerprint256 !== first.fingerprint256,
    );
    const node = await client(null);
    for (const [type, { namespace, sensitive, since = 0 }] of Object.entries(resourceTypes)) {
      if (since > 13) continue;
      expect(await listing(node, { namespace, type })).toBe(sensitive ? 'PermissionDenied: not authorized' : 'ok');
    }
    expect(await messageOfRejection(node.machine.bootstrap({}))).toBe('PermissionDenied: not authorized');
    expect((await errorOf((await client()).machine.version({}))).message).toMatch(/certificate/);
  });

  it('8: maintenance mode applies a configuration without a reboot, then refuses unauthenticated callers', async () => {
    const { world, config, client } = await startTestCluster('eight', { maintenance: true });
    const node = await client(null);
    await awaitStage(world, node, 'maintenance');
    const apply = (text: string, mode: Mode) => node.machine.applyConfiguration({ data: Buffer.from(text), mode });
    const unknown = await messageOfRejection(apply(config.replace('token:', 'tokenn:'), Mode.NO_REBOOT));
    expect(unknown).toContain('unknown keys found during decoding:\nmachine:\n    tokenn: ');
    const { messages } = await apply(config, Mode.REBOOT);
    expect(messages[0]).toMatchObject({ mode: Mode.NO_REBOOT, modeDetails: 'Applied configuration without a reboot' });
    expect(await messageOfRejection(apply(config, Mode.AUTO))).toBe('PermissionDenied: not authorized');
    await world.until('mutual TLS', async () => (await client()).machine.version({}));
  });

  it('9: a configured node requires a client certificate; it resets connections until its API is up', async () => {
    const { world, address } = await startTestCluster('nine');
    const codes: string[] = [];
    await world.until('the alert', async () => {
      codes.push(await tlsFailure(address));
      return codes.at(-1) === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';
    });
    expect(codes).toContain('ECONNRESET');
  });

  it('10: the same configuration again changes nothing; a change of the type is refused with the token in the text', async () => {
    const one = await startTestCluster('ten');
    const { address, config, machine, world } = one;
    await awaitBootFromDisk(one);
    const node = await one.client();
    const before = await versionOf(node, 'v1alpha1');
    const same = await node.machine.applyConfiguration({ data: Buffer.from(config), mode: Mode.AUTO });
    expect(same.messages[0]?.mode).toBe(Mode.NO_REBOOT);
    expect(await versionOf(node, 'v1alpha1')).toBe(before);
    const mac = machine.nics[0]?.mac ?? '';
    const worker = makeConfig({
      secrets,
      role: 'worker',
      hostname: 'ten',
      mac,
      address,
      endpoint: `https://${address}:6443`,
      factory: world.factory.place,
    });
    const reason = await messageOfRejection(
      node.machine.applyConfiguration({ data: Buffer.from(worker), mode: Mode.NO_REBOOT }),
    );
    expect(reason).toMatch(/^InvalidArgument: .*can't be applied in immediate mode/);
    expect(reason).toContain('abcdef.0123456789abcdef');
  });

  it('11: Kubeconfig is issued before Kubernetes answers, and host:port is no target for the proxying API', async () => {
    const one = await startTestCluster('eleven');
    const { address } = one;
    await awaitBootFromDisk(one);
    const node = await one.client();
    const chunks: Uint8Array[] = [];
    for await (const chunk of node.machine.kubeconfig({})) chunks.push(chunk.bytes);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toContain(`server: https://${address}:6443`);
    const target = `${address}:50000`;
    expect(await messageOfRejection(node.machine.version({}, { headers: { node: target } }))).toBe(
      `Internal: invalid target "${target}"`,
    );
    const self = await node.machine.version({}, { headers: { nodes: address } });
    expect(self.messages[0]?.metadata?.hostname).toBe(address);
  });

  it('12: a reboot goes through stage rebooting (ready), a missing API, and a new boot id', async () => {
    const one = await startTestCluster('twelve');
    await awaitBootFromDisk(one);
    const node = await one.client();
    const before = await bootId(node);
    const { messages } = await node.machine.reboot({});
    expect(messages[0]?.actorId).toMatch(/^[0-9a-f-]{36}$/);
    expect((await readMachineStatus(node)).stage).toBe('rebooting');
    expect((await readMachineStatus(node)).status.ready).toBe(true);
    await one.world.until('the API to be gone', () => errorOf(node.machine.version({})).catch(() => undefined));
    await one.world.until('another boot id', async () => (await bootId(node)) !== before);
  });
});

async function listing(node: TestClient, { namespace, type }: { namespace: string; type: string }): Promise<string> {
  try {
    for await (const _ of node.state.list({ namespace, type }));
    return 'ok';
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return `${Code[code]}: ${rawMessage}`;
  }
}

async function versionOf(node: TestClient, id: string): Promise<string | undefined> {
  const { resource } = await node.state.get({ namespace: 'config', type: 'MachineConfigs.config.talos.dev', id });
  return resource?.metadata?.version;
}

async function bootId(node: TestClient): Promise<string> {
  let text = '';
  for await (const chunk of node.machine.read({ path: '/proc/sys/kernel/random/boot_id' }))
    text += Buffer.from(chunk.bytes);
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

/** The error code that a client without a certificate gets. */
function tlsFailure(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ host, port: 50000, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
}
