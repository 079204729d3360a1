import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readIsoDisc } from '../../../world/talos/boot/iso9660.ts';
import { cidataDisc, makeSecrets, rewriteCidata } from '../testing/talos-test-bed.ts';
import {
  awaitBootFromDisk,
  awaitStage,
  messageOfRejection,
  sharedTestSecrets,
  startTestCluster,
  type TestNodeOptions,
} from '../testing/test-cluster.ts';

/** A fault must appear as on a real node: as a missing API, a node that never joins, a service that never runs. */
const awaitStuckReason = (one: Awaited<ReturnType<typeof startTestCluster>>, name: string) =>
  one.world.until(`${name} to be stuck`, () => one.world.runner.node(name)?.stuck);

describe('a machine that hangs reports the reason', () => {
  it.each<[TestNodeOptions, RegExp]>([
    [
      { edit: (text) => text.replace('kubelet:', 'kubelett:') },
      /failed to acquire the configuration.*unknown keys found/s,
    ],
    [{ cluster: { controlPlane: {} } }, /cluster controlplane endpoint is required/],
    [{ edit: () => 'machine: {' }, /decode error/],
    [{ files: { 'network-config': '- a' } }, /failed to unmarshal network-config/],
    [{ mac: '02:ff:ff:ff:ff:ff' }, /no network link has an address/],
    [{ address: '192.0.2.1' }, /the address cannot be used: .*EADDRNOTAVAIL/],
    [{ hardware: { memoryMiB: 1024 } }, /needs 2 GiB of memory/],
    [
      { prepare: (world) => world.factory.missing.add('nocloud-installer') },
      /install failed: failed to pull image .* not found/,
    ],
    [
      { edit: (text) => text.replace(/image: \S+nocloud-installer/, 'image: factory.example/nocloud-installer') },
      /no such host/,
    ],
    [{ edit: (text) => text.replace('/dev/vda', '/dev/sda') }, /stat \/dev\/sda: no such file or directory/],
    [{ hardware: { disks: [] } }, /no such file or directory/],
    [{ hardware: { cpuModel: null } }, /x86-64-v2 is required/],
  ])('%o: %s', async (options, reason) => {
    const one = await startTestCluster('hangs', options);
    expect(await awaitStuckReason(one, 'hangs')).toMatch(reason);
  });

  it.each([
    ['1.12.11', 64 * 1024 - 2048, true],
    ['1.12.11', 64 * 1024, false],
    ['1.13.9', 0, false],
  ])('Talos %s with a seed of at least %d bytes finds none: %s', async (version, leastBytes, isMissed) => {
    const one = await startTestCluster('small', {
      image: { version },
      edit: (text) => text.replaceAll('v1.13.9', `v${version}`).replaceAll('v1.36.3', 'v1.35.4'),
      prepare: (_, { cdroms }) => {
        const seed = readIsoDisc(cdroms[1]!.path)!;
        const files = Object.fromEntries([...seed.files].map(([name, bytes]) => [name, bytes.toString('utf8')]));
        writeFileSync(cdroms[1]!.path, cidataDisc(files, leastBytes));
      },
    });
    const end = await one.world.until('an end', () => {
      const node = one.world.runner.node('small');
      return node?.stuck ?? (node?.stage === 'installing' ? 'it installs' : undefined);
    });
    if (isMissed) expect(end).toMatch(/hangs before maintenance mode|no network link has an address/);
    else expect(end).toBe('it installs');
  });

  it('and there is no API at all meanwhile, until the disc is valid', async () => {
    const one = await startTestCluster('corrected', { edit: (text) => text.replace('token:', 'tokenn:') });
    await awaitStuckReason(one, 'corrected');
    const client = await one.client();
    expect(await messageOfRejection(client.machine.version({}))).toMatch(/ECONNREFUSED/);
    rewriteCidata(one.machine, { 'user-data': one.config.replaceAll('tokenn:', 'token:') });
    await awaitStage(one.world, client, 'installing');
    expect(one.world.runner.node('corrected')?.stuck).toBeUndefined();
  });

  it('an installation that cannot begin erases nothing', async () => {
    const one = await startTestCluster('untouched', {
      prepare: (world) => world.factory.missing.add('nocloud-installer'),
    });
    await awaitStuckReason(one, 'untouched');
    await one.again();
    const client = await one.client();
    await awaitStage(one.world, client, 'installing');
  });
});

describe('an installer of another platform', () => {
  it('turns a nocloud machine into a metal one, which ignores its cidata', async () => {
    const one = await startTestCluster('platform', {
      edit: (text) => text.replace('nocloud-installer', 'metal-installer'),
    });
    await awaitBootFromDisk(one);
    expect(one.world.runner.node('platform')?.platform).toBe('metal');
  });
});

describe('a node that does not match its cluster', () => {
  it('has no API when it is a worker with another machine token', async () => {
    const one = await startTestCluster('cp');
    one.add('thief', {
      role: 'worker',
      edit: (text) => text.replace('abcdef.0123456789abcdef', 'zzzzzz.0123456789abcdef'),
    });
    await awaitBootFromDisk(one);
    const rejection = await one.world.until('the refusal', () =>
      one.world.runner.node('thief')?.console.find((line) => line.includes('unauthorized')),
    );
    expect(rejection).toMatch(/failed to sign API server CSR/);
    expect(one.world.runner.node('thief')?.listening).toBe(false);
  });

  it('does not join etcd with another etcd CA', async () => {
    const others = await makeSecrets();
    const one = await startTestCluster('first');
    const second = one.add('second', { secrets: { ...(await sharedTestSecrets()), etcd: others.etcd } });
    await awaitBootFromDisk(one);
    await awaitBootFromDisk({ world: one.world, machine: second.machine });
    const { machine } = await one.client();
    await one.world.until('bootstrap', () => one.world.during(machine.bootstrap({})));
    const message = await one.world.until('the reason', () =>
      one.world.runner.node('second')?.console.find((line) => line.includes('etcd: tls: ') && line.includes('x509')),
    );
    expect(message).toMatch(/certificate signed by unknown authority/);
    expect((await machine.etcdMemberList({})).messages[0]?.members).toHaveLength(1);
  });

  it('does not register its Node with another bootstrap token', async () => {
    const one = await startTestCluster('server');
    one.add('guest', { role: 'worker', cluster: { token: 'zzzzzz.zzzzzzzzzzzzzzzz' } });
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('bootstrap', () => one.world.during(machine.bootstrap({})));
    await one.world.until('the refusal', () =>
      one.world.runner.node('guest')?.console.some((line) => line.endsWith('Unauthorized')),
    );
    await one.world.until('the control plane', () => one.world.runner.node('server')?.ready);
    expect(one.world.runner.node('guest')?.ready).toBe(false);
  });

  it('has no API server with a Kubernetes CA and the key of another CA', async () => {
    const others = await makeSecrets();
    const secrets = await sharedTestSecrets();
    const kubernetes = { ...secrets.kubernetes, key: others.kubernetes.key };
    const one = await startTestCluster('mixed', { secrets: { ...secrets, kubernetes } });
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('bootstrap', () => one.world.during(machine.bootstrap({})));
    await one.world.until('the reason', () =>
      one.world.runner
        .node('mixed')
        ?.console.some((line) => line.includes('kube-apiserver: ') && line.includes('private key does not match')),
    );
    expect(one.world.runner.node('mixed')?.ready).toBe(false);
  });

  it('is never ready without a network plugin', async () => {
    const one = await startTestCluster('bare', {
      cluster: { network: { cni: { name: 'none' }, podSubnets: ['10.244.0.0/16'], serviceSubnets: ['10.96.0.0/12'] } },
    });
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('bootstrap', () => one.world.during(machine.bootstrap({})));
    await one.world.until('the Node', () =>
      one.world.runner.node('bare')?.console.some((line) => line.includes('registered node')),
    );
    expect(one.world.runner.node('bare')?.ready).toBe(false);
  });
});
