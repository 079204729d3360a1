import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ContainerDriver, ContainerdNamespace } from '../../../../src/talos/gen/common_pb.ts';
import { RebootRequest_Mode as RebootMode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import type { TestClient } from '../testing/talos-test-bed.ts';
import {
  awaitBootFromDisk,
  messageOfRejection,
  startTestCluster,
  type TestCluster,
  type TestNodeOptions,
} from '../testing/test-cluster.ts';
import { schematic } from '../testing/test-config.ts';

const onDisk = { driver: ContainerDriver.CRI, namespace: ContainerdNamespace.NS_SYSTEM };
const otherSchematic = 'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515';
const olderKubernetes = (text: string): string => text.replaceAll('v1.36.3', 'v1.35.4');

/** A control plane that runs from its disk, up to its CRI. */
async function startInstalled(name: string, version = '1.13.9', options: TestNodeOptions = {}) {
  const cluster = await startTestCluster(name, {
    edit: (text) => olderKubernetes(text).replace(`${schematic}:v1.13.9`, `${schematic}:v${version}`),
    image: { version },
    ...options,
  });
  await awaitBootFromDisk(cluster);
  const node = await cluster.client();
  await cluster.world.until('the CRI', async () => {
    const { services = [] } = (await node.machine.serviceList({})).messages[0] ?? {};
    return services.some(({ id, state }) => id === 'cri' && state === 'Running');
  });
  return { ...cluster, node };
}

/** The same, bootstrapped and ready. */
async function startReady(name: string) {
  const cluster = await startInstalled(name);
  await bootstrap(cluster);
  return cluster;
}

async function bootstrap(cluster: TestCluster & { node: TestClient }): Promise<void> {
  await cluster.world.until('the bootstrap', () => cluster.world.during(cluster.node.machine.bootstrap({})));
  await awaitReady(cluster);
}

const awaitReady = ({ world, machine }: Pick<TestCluster, 'world' | 'machine'>) =>
  world.until('a ready node', () => world.runner.node(machine.name)?.ready);

const installer = ({ world }: Pick<TestCluster, 'world'>, version: string, id = schematic) =>
  `${world.factory.place}/nocloud-installer/${id}:v${version}`;

async function pull({ world }: Pick<TestCluster, 'world'>, { images }: TestClient, imageRef: string) {
  const seen: string[] = [];
  const done = (async () => {
    let name = '';
    for await (const { response } of images.pull({ containerd: onDisk, imageRef })) {
      if (response.case === 'name') name = response.value;
      else if (response.case === 'pullProgress') seen.push(`${response.value.progress?.status}`);
    }
    return name;
  })();
  return { name: await world.during(done), seen };
}

async function upgrade({ world }: Pick<TestCluster, 'world'>, { lifecycle }: TestClient, imageName: string) {
  const lines: string[] = [];
  const done = (async () => {
    for await (const { progress } of lifecycle.upgrade({ containerd: onDisk, source: { imageName } })) {
      if (progress?.response.case === 'message') lines.push(progress.response.value.trimEnd());
      if (progress?.response.case === 'exitCode') return progress.response.value;
    }
    return undefined;
  })();
  return { code: await world.during(done), output: lines.join('\n') };
}

const bootId = async ({ machine }: TestClient): Promise<string> => {
  for await (const { bytes } of machine.read({ path: '/proc/sys/kernel/random/boot_id' })) {
    return Buffer.from(bytes).toString();
  }
  return '';
};
const version = async ({ machine }: TestClient) => (await machine.version({})).messages[0]?.version?.tag;
async function list({ state }: TestClient, type: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for await (const { resource } of state.list({ namespace: 'runtime', type }))
    found.push({ id: resource?.metadata?.id, ...parse(resource?.spec?.yamlSpec ?? '') });
  return found;
}
const extensions = async (node: TestClient) =>
  (await list(node, 'ExtensionStatuses.runtime.talos.dev')).map(({ metadata }) => {
    const { name, version: found } = metadata as { name: string; version: string };
    return `${name} ${found}`;
  });
const fallback = async (node: TestClient) =>
  (await list(node, 'MetaKeys.runtime.talos.dev')).find(({ id }) => id === '0x06')?.['value'];

async function reboot(cluster: TestCluster & { node: TestClient }, mode = RebootMode.POWERCYCLE): Promise<string> {
  const before = await bootId(cluster.node);
  await cluster.node.machine.reboot({ mode });
  return await cluster.world.until('another boot', async () => {
    const id = await bootId(cluster.node);
    return id !== before && id;
  });
}

describe('an upgrade by the lifecycle service', () => {
  it('needs a pulled image, writes the other slot, and is booted by the next reboot', async () => {
    const cluster = await startReady('upgraded');
    const { node, world } = cluster;
    const reference = installer(cluster, '1.14.0', otherSchematic);
    expect(await messageOfRejection(upgrade(cluster, node, reference))).toContain(
      `Internal: upgrade failed: installer image "${reference}" not found in containerd store`,
    );
    const { name, seen } = await pull(cluster, node, reference);
    expect(name).toMatch(new RegExp(`^${world.factory.place}/nocloud-installer/${otherSchematic}@sha256:`));
    expect(seen).toEqual(['0', '0', '0', '0', '1', '2', '3']);
    expect((await pull(cluster, node, reference)).seen, 'it is there already').toEqual([]);
    expect(await upgrade(cluster, node, name)).toMatchObject({
      code: 0,
      output: expect.stringContaining('running Talos installer v1.14.0'),
    });
    expect([await version(node), await extensions(node)]).toEqual(['v1.13.9', [`schematic ${schematic}`]]);
    expect(await fallback(node)).toBe('Talos-v1.13.9.efi');

    await reboot(cluster);
    expect([await version(node), await extensions(node)]).toEqual(['v1.14.0', [`schematic ${otherSchematic}`]]);
    expect(await fallback(node), 'it is not confirmed before it is ready').toBe('Talos-v1.13.9.efi');
    await awaitReady(cluster);
    await world.until('the confirmation', async () => (await fallback(node)) === undefined);
    await node.machine.rollback({});
    await world.until('the earlier version', async () => (await version(node)) === 'v1.13.9');
  });

  it('runs one installer at a time, which continues when the caller is gone', async () => {
    const cluster = await startInstalled('busy');
    const { node, world } = cluster;
    const { name } = await pull(cluster, node, installer(cluster, '1.13.8'));
    const gone = new AbortController();
    const first = node.lifecycle.upgrade({ containerd: onDisk, source: { imageName: name } }, { signal: gone.signal });
    await first[Symbol.asyncIterator]().next();
    expect(await messageOfRejection(upgrade(cluster, node, name))).toBe(
      'FailedPrecondition: another installation/upgrade is already in progress',
    );
    gone.abort();
    await world.until('the new slot', () => readPartition(cluster.machine.disks[0]?.path ?? '', 'BOOT')?.previous);
    expect(readPartition(cluster.machine.disks[0]?.path ?? '', 'BOOT')).toMatchObject({
      version: '1.13.8',
      previous: { version: '1.13.9' },
    });
  });

  it.each([
    ['1.13.9', '1.12.11', 0, 'all pre-flight checks successful'],
    ['1.14.0', '1.12.11', 1, 'host version 1.14.0 is too new to downgrade to Talos 1.12.11'],
    ['1.13.9', '1.16.0', 4, 'host version 1.13.9 is too old to upgrade to Talos 1.16.0'],
  ])('from %s to %s ends with the exit code of the new installer', async (from, to, code, output) => {
    const cluster = await startInstalled(`exit-${from}-${to}`.replaceAll('.', '-'), from);
    const { name } = await pull(cluster, cluster.node, installer(cluster, to));
    expect(await upgrade(cluster, cluster.node, name)).toEqual({ code, output: expect.stringContaining(output) });
  });

  it('is refused by the installer of an older version that does not know a document of the configuration', async () => {
    const documents = [{ apiVersion: 'v1alpha1', kind: 'KubeNodeConfig', labels: { a: 'b' } }];
    const cluster = await startInstalled('newer-document', '1.14.0', { documents });
    const { name } = await pull(cluster, cluster.node, installer(cluster, '1.13.9'));
    const { code, output } = await upgrade(cluster, cluster.node, name);
    expect(code).toBe(1);
    expect(output).toContain('error loading machine configuration');
    expect(readPartition(cluster.machine.disks[0]?.path ?? '', 'BOOT')?.version).toBe('1.14.0');
  });

  it('does not exist before Talos 1.13', async () => {
    const cluster = await startTestCluster('old', { edit: olderKubernetes, image: { version: '1.12.11' } });
    const { name } = cluster.machine;
    await cluster.world.until('its API', () => cluster.world.runner.node(name)?.listening);
    const node = await cluster.client();
    expect(await messageOfRejection(upgrade(cluster, node, 'x'))).toContain('Unimplemented: unknown service');
    expect(await messageOfRejection(pull(cluster, node, 'x'))).toContain('Unimplemented: unknown service');
  });
});

describe('a pull', () => {
  it('knows its namespaces, remembers images over a reboot, and says what is not there', async () => {
    const cluster = await startInstalled('pulls');
    const { node, world } = cluster;
    const instance = (driver: ContainerDriver, namespace: ContainerdNamespace) => ({ driver, namespace });
    const inKubernetes = instance(ContainerDriver.CRI, ContainerdNamespace.NS_CRI);
    const names = async (containerd: ReturnType<typeof instance>) => {
      const found: string[] = [];
      for await (const { name } of node.images.list({ containerd })) found.push(name);
      return found;
    };
    const refused = async (containerd: ReturnType<typeof instance>) => await messageOfRejection(names(containerd));
    expect(await refused(instance(ContainerDriver.CRI, ContainerdNamespace.NS_UNKNOWN))).toContain('InvalidArgument');
    expect(await refused(instance(ContainerDriver.CONTAINERD, ContainerdNamespace.NS_CRI))).toBe(
      'InvalidArgument: cannot use CRI namespace with containerd driver',
    );
    const image = 'registry.k8s.io/kube-apiserver:v1.36.4';
    const pulled = node.machine.imagePull({ namespace: ContainerdNamespace.NS_CRI, reference: image });
    await world.during(pulled);
    expect(await names(inKubernetes)).toContain(image);
    world.runner.missingImages.add('kubelet:v1.36.4');
    for (const missing of ['ghcr.io/siderolabs/kubelet:v1.36.4', 'registry.k8s.io/kube-proxy:v1.99.0', 'x/y:v1']) {
      expect(await messageOfRejection(pull(cluster, node, missing))).toMatch(
        /^NotFound: error pulling image: failed to pull image .* not found$/,
      );
    }
    await reboot(cluster);
    await world.until('the CRI', async () => (await names(inKubernetes)).includes(image));
  });
});

describe('an upgrade that fails to boot', () => {
  it('reverts after a fatal error of the new system, and can be tried again', async () => {
    const cluster = await startInstalled('reverts');
    const { node, world } = cluster;
    world.runner.brokenSystems.set('1.14.0', 'ends');
    const { name } = await pull(cluster, node, installer(cluster, '1.14.0'));
    expect((await upgrade(cluster, node, name)).code).toBe(0);
    await reboot(cluster);
    expect([await version(node), await fallback(node)]).toEqual(['v1.13.9', undefined]);
    expect(readPartition(cluster.machine.disks[0]?.path ?? '', 'BOOT')?.previous?.version).toBe('1.14.0');
  });

  it('stays silent when the kernel does not reach Talos, also after a power cycle', async () => {
    const cluster = await startInstalled('hangs');
    const { node, world, machine } = cluster;
    world.runner.brokenSystems.set('1.14.0', 'hangs');
    const { name } = await pull(cluster, node, installer(cluster, '1.14.0'));
    await upgrade(cluster, node, name);
    await node.machine.reboot({ mode: RebootMode.POWERCYCLE });
    const silent = () => world.until('a hanging kernel', () => world.runner.node(machine.name)?.stuck);
    expect(await silent()).toContain('the kernel of Talos v1.14.0 hangs');
    await cluster.again();
    expect(await silent()).toContain('the kernel of Talos v1.14.0 hangs');
  });
});

describe('the legacy upgrade', () => {
  it.each(['1.12.11', '1.13.9'])('of Talos %s installs and reboots by itself', async (from) => {
    const cluster = await startInstalled(`legacy-${from}`.replaceAll('.', '-'), from);
    const { node, world } = cluster;
    const upgradeTo = (tag: string, more = {}) =>
      world.during(node.machine.upgrade({ image: installer(cluster, tag), ...more }));
    world.factory.missing.add('v1.13.7');
    expect(await messageOfRejection(upgradeTo('1.13.7'))).toMatch(/^Unknown: error validating installer image .*7"/);
    // etcd does not run yet.
    expect(await messageOfRejection(upgradeTo('1.13.8'))).toContain('Unknown: failed to acquire upgrade mutex');
    await bootstrap(cluster);
    const { messages } = await upgradeTo('1.13.8');
    expect(messages[0]?.ack).toBe('Upgrade request received');
    await world.until('the new version', async () => (await version(node)) === 'v1.13.8');
  });

  it('is staged for the next boot, which installs and boots again', async () => {
    const cluster = await startInstalled('staged');
    const { node, world, machine } = cluster;
    const image = installer(cluster, '1.13.8');
    await world.during(node.machine.upgrade({ image, stage: true, force: true }));
    await world.until('the installation', () => world.runner.node(machine.name)?.stage === 'installing');
    await world.until('the new version', async () => (await version(node)) === 'v1.13.8');
    expect(readPartition(machine.disks[0]?.path ?? '', 'META')?.tags).toEqual({ '0x06': 'Talos-v1.13.9.efi' });
  });
});
