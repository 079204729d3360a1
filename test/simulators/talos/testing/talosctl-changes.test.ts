import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readManifests } from '../../../../src/controllers/rollout/kubernetes/manifests/read-manifests.ts';
import { syncManifests } from '../../../../src/controllers/rollout/kubernetes/manifests/sync-manifests.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { ConfigMap } from '../../../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { readMachineConfig } from '../../../../src/talos/client/api-server-pod.ts';
import { openTalosClient, type TalosClient } from '../../../../src/talos/client/client.ts';
import { listConfigChanges } from '../../../../src/talos/config/compare/config-changes.ts';
import { createTalosCredentials } from '../../../../src/talos/secrets/client-credentials.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { missingTalosctlFor, talosctlFor } from '../../../talos/talosctl.ts';
import { waitUntilDefined } from './talos-test-bed.ts';
import { startBootstrappedCluster, type TalosctlCluster } from './talosctl-cluster.ts';
import { awaitNodesReady, nodeNamesOf } from './talosctl-fixture.ts';

/** What an administrator changes in a running cluster: its authorities, its Kubernetes and its Talos. */
describe.each([
  { version: '1.13.9', next: '1.13.10' },
  { version: '1.14.0', next: '1.14.1' },
])('the real talosctl changes a simulated cluster of Talos $version', ({ version, next }) => {
  const binary = talosctlFor(version);
  describeUnlessMissing('step by step', binary === undefined ? missingTalosctlFor(version) : undefined, () =>
    changeCluster({ binary: binary ?? '', version, next }),
  );
});

interface TalosVersions {
  readonly binary: string;
  readonly version: string;
  readonly next: string;
}

function changeCluster({ binary, version, next }: TalosVersions): void {
  let cluster: TalosctlCluster;
  let [one, two, worker] = ['', '', ''];
  const says: TalosctlCluster['says'] = (...args) => cluster.says(...args);
  const activeConfig = (address: string) => says(address, 'get', 'mc', 'v1alpha1', '-o', 'yaml');
  const nodeFlags = () => ['--control-plane-nodes', `${one},${two}`, '--worker-nodes', worker];
  const kubeletVersions = async () => {
    const read = ['get', 'kubeletspec', '-o', 'jsonpath={.spec.image}'];
    const images = await Promise.all([one, two, worker].map((address) => says(address, ...read)));
    return images.map((image) => image.trim().split(':v')[1]);
  };
  const withNode = async <T>(address: string, work: (node: TalosClient) => Promise<T>): Promise<T> => {
    const node = openTalosClient({ address, credentials: createTalosCredentials(cluster.bundle, systemClock) });
    return await work(node).finally(() => node.close());
  };
  /** Applies the bootstrap manifests as the product does after an upgrade. Returns its report and the inventory. */
  const syncAsProduct = async () => {
    await says(one, 'kubeconfig', 'kubeconfig', '--force');
    const connection = loadApiServerConnection({ path: join(cluster.fixture.folder, 'kubeconfig') });
    const client = new KubeClient(new Transport(connection), { fieldManager: 'tests' });
    const signal = AbortSignal.timeout(20_000);
    const readInventory = async () => {
      const key = { namespace: 'kube-system', name: 'talos-bootstrap-manifests-inventory' };
      return Object.keys((await client.find(ConfigMap, key, signal))?.data ?? {}).sort();
    };
    try {
      const before = await readInventory();
      const objects = await withNode(one, (node) => readManifests(node, { signal }));
      const report = await syncManifests({ client, objects, hasInventory: true, signal });
      return { report, before, after: await readInventory() };
    } finally {
      await client.close();
    }
  };

  beforeAll(async () => {
    cluster = await startBootstrappedCluster(binary, version);
    ({ one, two, worker } = cluster);
  });
  afterAll(() => cluster?.close());

  it('shows in a dry run what a configuration would do in each mode, and applies none', async () => {
    const text = (cluster.configs.get('two') ?? '').replace('certSANs: []', 'certSANs: [dry.example]');
    const file = cluster.fixture.file('dry.yaml', text);
    for (const [mode, effect] of [
      ['auto', 'Applied configuration without a reboot'],
      ['no-reboot', 'Applied configuration without a reboot'],
      ['try', 'Applied configuration without a reboot'],
      ...(version.startsWith('1.13') ? ([['reboot', 'Applied configuration with a reboot']] as const) : []),
      ['staged', 'Staged configuration to be applied after the next reboot'],
    ] as const) {
      const shown = await says(two, 'apply-config', '--file', file, '--mode', mode, '--dry-run');
      expect(shown).toContain(`Dry run summary:\n${effect} (skipped in dry-run).\nConfig diff:`);
      expect(shown).toContain('dry.example');
    }
    expect(await activeConfig(two)).not.toContain('dry.example');
    expect(await says(two, 'get', 'mc', 'persistent', '-o', 'yaml')).not.toContain('dry.example');
  });

  describe('Kubernetes', () => {
    const upgrade = (...args: string[]) => says(one, 'upgrade-k8s', '--to', '1.36.4', ...args);
    const unchanged = ['kube-flannel', 'kube-proxy'].map((name) => `unchanged DaemonSet/kube-system/${name}`);

    it('is not upgraded in a dry run, which shows every change', async () => {
      const shown = await upgrade('--dry-run');
      expect(shown).toContain('automatically detected the lowest Kubernetes version 1.35.4');
      expect(shown).toContain(`discovered controlplane nodes ["${one}" "${two}"]`);
      expect(shown).toContain(`discovered worker nodes ["${worker}"]`);
      expect(shown).toMatch(/> update kube-apiserver: v?1\.35\.4 -> 1\.36\.4/);
      expect(shown.match(/> update kubelet: 1\.35\.4 -> 1\.36\.4/g)).toHaveLength(3);
      expect(shown).toContain('configured DaemonSet/kube-system/kube-proxy');
      expect(await kubeletVersions()).toEqual(['1.35.4', '1.35.4', '1.35.4']);
    });

    it('leaves the configuration in the form of talosctl, in which the product finds no change', async () => {
      // The dry run has not touched the worker.
      await says(worker, 'patch', 'machineconfig', '--patch', 'machine: {}');
      for (const [name, address] of [
        ['one', one],
        ['worker', worker],
      ] as const) {
        const signal = AbortSignal.timeout(20_000);
        const active = await withNode(address, (node) => readMachineConfig(node, { signal }));
        const text = cluster.configs.get(name) ?? '';
        expect(active.reveal()).not.toBe(text);
        expect(listConfigChanges(active, new SecretString(text))).toEqual([]);
      }
      expect(await says(one, 'get', 'staticpodstatus')).toMatch(/kube-apiserver-one +\d+ +True/);
    });

    it('has nothing to apply after the product has applied the manifests', async () => {
      const { report, before, after } = await syncAsProduct();
      expect([report, before]).toEqual([{ applied: 6, pruned: [], problems: [] }, []]);
      expect(after).toHaveLength(6);
      const shown = await upgrade('--to', '1.35.4', '--dry-run');
      for (const line of unchanged) expect(shown).toContain(line);
      expect(shown).not.toMatch(/ < (?!unchanged)/);
    });

    it('is upgraded on every node, with the manifests, after which the product has nothing to change', async () => {
      expect(await upgrade()).toMatch(/waiting for kubernetes objects to be fully reconciled\ndone/);
      expect(await kubeletVersions()).toEqual(['1.36.4', '1.36.4', '1.36.4']);
      await awaitNodesReady(cluster.fixture, 'one', 'two', 'worker');
      const again = await upgrade('--dry-run');
      expect(again).toContain('automatically detected the lowest Kubernetes version 1.36.4');
      for (const line of unchanged) expect(again).toContain(line);
      const { report, before, after } = await syncAsProduct();
      expect(report).toEqual({ applied: 6, pruned: [], problems: [] });
      expect(after).toEqual(before);
      expect(await upgrade('--dry-run')).not.toMatch(/ < (?!unchanged)/);
    });
  });

  it('Talos is upgraded, and rolled back to the system before', async () => {
    const { place } = cluster.fixture.world.factory;
    const image = `${place}/nocloud-installer/${'a'.repeat(64)}:v${next}`;
    const runs = (tag: string) =>
      waitUntilDefined(tag, async () => {
        const { code, text } = await cluster.run(worker, 'version', '--short');
        return code === 0 && text.includes(`Tag:         ${tag}`);
      });
    const upgraded = await says(worker, 'upgrade', '--image', image, '--drain=false', '--wait=false');
    expect(upgraded).toContain(`${worker}: upgrade completed`);
    await runs(`v${next}`);
    await awaitNodesReady(cluster.fixture, 'worker');
    await says(worker, 'rollback');
    await runs(`v${version}`);
    await awaitNodesReady(cluster.fixture, 'worker');
  });

  it('a service that is not simulated is unknown, as to every client of gRPC', async () => {
    const health = await cluster.fails(one, 'health', '--wait-timeout', '5s');
    expect(health).toContain('code = Unimplemented desc = unknown service cluster.ClusterService');
  });

  describe('certificate authorities', () => {
    it('of Kubernetes: a dry run changes nothing, and then every node is ready with the new one', async () => {
      const rotate = (...args: string[]) => says(one, 'rotate-ca', '--talos=false', ...nodeFlags(), ...args);
      const read = ['get', 'kubernetesrootsecrets', 'k8s', '--namespace', 'secrets'];
      const caOf = async () => (await says(one, ...read, '-o', 'jsonpath={.spec.issuingCA.crt}')).trim();
      const before = await caOf();
      const dry = await rotate();
      expect(dry).toContain(before);
      expect(dry).toContain('no changes were made to the cluster');
      expect(await caOf()).toBe(before);
      expect(await rotate('--dry-run=false')).toMatch(
        /Verifying connectivity with new PKI\.\.\.\n - OK \(3 nodes ready\)/,
      );
      expect(await caOf()).not.toBe(before);
      await says(one, 'kubeconfig', 'kubeconfig', '--force');
      expect(await nodeNamesOf(cluster.fixture, 'kubeconfig')).toEqual(['one', 'two', 'worker']);
    });

    it('of Talos: the new talosconfig is accepted by every node, and the former one by none', async () => {
      const rotated = await says(
        one,
        ...['rotate-ca', '--kubernetes=false', '--dry-run=false', ...nodeFlags()],
        '-o',
        'new',
      );
      for (const address of [one, two, worker]) {
        expect(rotated).toContain(`- ${address}: OK (version v${version})`);
        const ask = ['--nodes', address, 'version', '--short'];
        expect(await cluster.fixture.says('--talosconfig', 'new', ...ask)).toContain(`v${version}`);
        expect(await cluster.fails(address, 'version')).toContain('certificate signed by unknown authority');
      }
    });
  });
}
