import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingPeers } from '../../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { talosctl } from '../../../talos/talosctl.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import { waitUntilDefined } from './talos-test-bed.ts';
import { startTalosctlCluster, type TalosctlCluster } from './talosctl-cluster.ts';
import { awaitNodesReady, bootstrapCluster, nodeNamesOf, type TalosctlFixture } from './talosctl-fixture.ts';

/** Two control planes and a worker, with the product's configurations and talosconfig, from bootstrap to reset. */
describeUnlessMissing('the real talosctl on the simulated nodes of a cluster', missingPeers('talosctl'), () => {
  let cluster: TalosctlCluster;
  let fixture: TalosctlFixture;
  let [one, two, worker] = ['', '', ''];
  const says: TalosctlCluster['says'] = (...args) => cluster.says(...args);
  const fails: TalosctlCluster['fails'] = (...args) => cluster.fails(...args);
  const bootId = (address: string) => says(address, 'read', '/proc/sys/kernel/random/boot_id');

  beforeAll(async () => {
    cluster = await startTalosctlCluster(talosctl ?? '');
    ({ fixture, one, two, worker } = cluster);
  });
  afterAll(() => cluster?.close());

  it('bootstraps on one control plane, once', async () => {
    expect(await fails(one, 'etcd', 'members')).toContain('code = Unavailable');
    await bootstrapCluster(fixture, 'talosconfig', one);
    const refused = await waitUntilDefined('a refusal', async () => {
      const { code, text } = await cluster.run(one, 'bootstrap');
      return code === 0 ? undefined : text;
    });
    expect(refused).toContain('code = AlreadyExists desc = etcd data directory is not empty');
    // The worker's API starts when a control plane has signed its certificate.
    await waitUntilDefined('the worker', async () => (await cluster.run(worker, 'version')).code === 0);
    expect(await fails(worker, 'bootstrap')).toContain('code = Unimplemented desc = bootstrap is only available');
  });

  it('shows versions, services and resources of control plane and worker', async () => {
    await awaitNodesReady(fixture, 'one', 'two', 'worker');
    for (const address of [one, worker]) {
      expect(await says(address, 'version', '--short')).toMatch(new RegExp(`NODE: +${address}\\n\\tTag: +v1.13.9\\n`));
    }
    const members = await says(one, 'get', 'members');
    expect(members).toMatch(/Member +two +\d+ +two +controlplane +Talos \(v1\.13\.9\)/);
    expect(members).toMatch(new RegExp(`Member +worker +\\d+ +worker +worker +.*\\["${worker}"\\]`));
    expect(await says(worker, 'get', 'machinestatus')).toMatch(/machine +\d+ +running +true/);
    expect(await says(one, 'get', 'links')).toMatch(/eth0 +\d+ +ether +02:.* up +true/);
    const addresses = await says(one, 'get', 'addresses');
    expect(addresses).toMatch(new RegExp(`eth0/${one}/16 +\\d+ +${one}/16 +eth0`));
    expect(addresses).toMatch(/lo\/127\.0\.0\.1\/8 +\d+ +127\.0\.0\.1\/8 +lo/);
    expect(await says(one, 'get', 'disks')).toMatch(/vda +\d+ +11 GB +false +virtio +.* disk0/);
    expect(await says(one, 'get', 'volumestatus')).toMatch(/EPHEMERAL +\d+ +partition +ready +\/dev\/vda4 +8\.4 GB/);
    expect(await says(one, 'get', 'staticpodstatus')).toMatch(/kube-system\/kube-apiserver-one +\d+ +True/);
    expect(await says(one, 'get', 'mc', 'v1alpha1', '-o', 'jsonpath={.spec}')).toContain('type: "controlplane"');
    expect(await says(one, 'services')).toMatch(/etcd +Running +OK/);
    expect(await says(worker, 'services')).not.toMatch(/etcd|trustd/);
    expect(await fails(one, 'get', 'nosuchthing')).toContain('resource "nosuchthing" is not registered');
  });

  it('lists etcd', async () => {
    const members = await says(one, 'etcd', 'members');
    for (const [name, address] of [
      ['one', one],
      ['two', two],
    ] as const) {
      expect(members).toMatch(
        new RegExp(`[0-9a-f]{16} +${name} +https://${address}:2380 +https://${address}:2379 +false`),
      );
    }
    expect(await says(one, 'etcd', 'status')).toMatch(/21 MB.*3\.6\.12/);
    expect(await fails(worker, 'etcd', 'status')).toContain('code = Unimplemented');
  });

  it('returns a working kubeconfig', async () => {
    await says(one, 'kubeconfig', 'kubeconfig');
    expect(readFileSync(join(fixture.folder, 'kubeconfig'), 'utf8')).toContain(`server: https://${one}:6443`);
    expect(await nodeNamesOf(fixture, 'kubeconfig')).toEqual(['one', 'two', 'worker']);
  });

  describe('applies a configuration', () => {
    const apply = (...args: string[]) => ['apply-config', '--file', ...args];
    const active = () => says(two, 'get', 'mc', 'v1alpha1', '-o', 'yaml');
    const persisted = () => says(two, 'get', 'mc', 'persistent', '-o', 'yaml');
    const withName = (name: string) =>
      fixture.file(`${name}.yaml`, (cluster.configs.get('two') ?? '').replace('certSANs: []', `certSANs: [${name}]`));
    const otherToken = () =>
      (cluster.configs.get('two') ?? '').replace(/token: "\w{6}\.\w{16}"/, 'token: "ghijkl.0123456789abcdef"');

    it('without a reboot, where possible', async () => {
      const before = await bootId(two);
      const answer = await says(two, ...apply(withName('first.example'), '--mode', 'no-reboot'));
      expect(answer).toContain('Applied configuration without a reboot');
      expect(await active()).toContain('first.example');
      expect(await persisted()).toContain('first.example');
      const refused = await fails(two, ...apply(fixture.file('token.yaml', otherToken()), '--mode', 'no-reboot'));
      expect(refused).toContain("code = InvalidArgument desc = this config change can't be applied in immediate mode");
      expect(await bootId(two)).toBe(before);
    });

    it('on trial, and rolls it back after the timeout', async () => {
      const answer = await says(two, ...apply(withName('tried.example'), '--mode', 'try', '--timeout', '15m'));
      expect(answer).toContain("The config is applied in 'try' mode and will be automatically reverted back in 15m0s");
      expect(await active()).toContain('tried.example');
      expect(await persisted()).not.toContain('tried.example');
      await waitUntilDefined('the old one to come back', async () => !(await active()).includes('tried.example'));
      expect(await active()).toContain('first.example');
    });

    it('with a reboot, after which it is active', async () => {
      const before = await bootId(two);
      const answer = await says(two, ...apply(fixture.file('token.yaml', otherToken()), '--mode', 'reboot'));
      expect(answer).toContain('Applied configuration with a reboot');
      await waitUntilDefined('another boot', async () => (await bootId(two)) !== before);
      expect(await active()).toContain('ghijkl.0123456789abcdef');
      await awaitNodesReady(fixture, 'one', 'two');
    });
  });

  it('reboots: another boot id, and all services again', async () => {
    const before = await bootId(two);
    await says(two, 'reboot', '--wait=false');
    await waitUntilDefined('another boot', async () => (await bootId(two)) !== before);
    await awaitNodesReady(fixture, 'one', 'two');
    expect((await says(two, 'services')).match(/Running +OK/g)).toHaveLength(11);
    expect((await says(one, 'etcd', 'members')).match(/:2379 +false/g)).toHaveLength(2);
  });

  it('shuts a node down', async () => {
    await says(worker, 'shutdown', '--wait=false');
    await waitUntilDefined('it to be off', () => fixture.world.runner.node('worker')?.stage === 'off');
  });

  it('resets a node, which leaves etcd, erases everything and powers off', async () => {
    const disk = fixture.world.runner.node('two')?.description.disks[0]?.path ?? '';
    const wrong = await fails(two, 'reset', '--wait=false', '--system-labels-to-wipe', 'BOOT');
    expect(wrong).toContain('failed to get volume status with label "BOOT"');
    await says(two, 'reset', '--wait=false');
    await waitUntilDefined('it to be off', () => fixture.world.runner.node('two')?.stage === 'off');
    expect((await says(one, 'etcd', 'members')).match(/:2379/g)).toHaveLength(1);
    expect((['BOOT', 'META', 'STATE', 'EPHEMERAL'] as const).map((label) => readPartition(disk, label))).toEqual(
      Array(4).fill(undefined),
    );
  });
});
