import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ContainerDriver, ContainerdNamespace } from '../../../../src/talos/gen/common_pb.ts';
import { RebootRequest_Mode as RebootMode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../boot/disk-partitions.ts';
import type { TestClient } from '../testing/talos-test-bed.ts';
import { schematic } from '../testing/test-config.ts';
import {
  awaitBootFromDisk,
  messageOfRejection,
  startTestCluster,
  type TestCluster,
  type TestNodeOptions,
} from '../testing/test-cluster.ts';

const onDisk = { driver: ContainerDriver.CRI, namespace: ContainerdNamespace.NS_SYSTEM };
const otherSchematic = 'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515';
const olderKubernetes = (text: string): string => text.replaceAll('v1.36.3', 'v1.35.4');

/** A control plane alone, running and ready. */
async function startReady(name: string, version = '1.13.9', options: TestNodeOptions = {}) {
  const cluster = await startTestCluster(name, {
    edit: (text) => olderKubernetes(text).replaceAll(`${schematic}:v1.13.9`, `${schematic}:v${version}`),
    image: { version },
    ...options,
  });
  await awaitBootFromDisk(cluster);
  const client = await cluster.client();
  await cluster.world.until('the bootstrap', () => cluster.world.during(client.machine.bootstrap({})));
  await awaitReady(cluster);
  return { ...cluster, node: client };
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
    const cluster = await startReady('busy');
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

});
