import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { ConfigMap } from '../../../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { missingPeers } from '../../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { talosctl } from '../../../talos/talosctl.ts';
import { waitUntilDefined } from './talos-test-bed.ts';
import {
  awaitInstalled,
  awaitNodesReady,
  bootstrapCluster,
  exampleSecretsBundle,
  renderProductConfig,
  renderProductTalosconfig,
  startTalosctlFixture,
  type TalosctlFixture,
} from './talosctl-fixture.ts';

/** One control plane: its etcd is maintained, saved, lost and restored. */
describeUnlessMissing('the real talosctl and the etcd of a simulated node', missingPeers('talosctl'), () => {
  let fixture: TalosctlFixture;
  let node = '';
  const on = (args: readonly string[]) => ['--talosconfig', 'talosconfig', '--nodes', node, ...args];
  const says = (...args: string[]) => fixture.says(...on(args));
  const fails = (...args: string[]) => fixture.fails(...on(args));
  /** Does something with the API server of the cluster, as soon as it answers. */
  const withKube = async <T>(work: (client: KubeClient) => Promise<T>): Promise<T> => {
    await says('kubeconfig', 'kubeconfig', '--force');
    const connection = loadApiServerConnection({ path: join(fixture.folder, 'kubeconfig') });
    const client = new KubeClient(new Transport(connection), { fieldManager: 'tests' });
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  };
  const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } });
  const hasMap = (name: string) =>
    withKube(async (client) => (await client.find(ConfigMap, { namespace: 'default', name })) !== undefined);

  beforeAll(async () => {
    fixture = await startTalosctlFixture(talosctl ?? '');
    const bundle = await exampleSecretsBundle();
    node = fixture.start('one', (place) => renderProductConfig(bundle, place));
    fixture.file('talosconfig', await renderProductTalosconfig(bundle, node));
    await awaitInstalled(fixture, 'one');
    await bootstrapCluster(fixture, 'talosconfig', node);
    await awaitNodesReady(fixture, 'one');
  });
  afterAll(() => fixture?.close());

  it('lists alarms, and disarms them', async () => {
    expect(await says('etcd', 'alarm', 'list')).toBe('');
    fixture.world.runner.raiseEtcdAlarm('one', 'NOSPACE');
    const row = new RegExp(`${node} +[0-9a-f]{16} +NOSPACE`);
    expect(await says('etcd', 'alarm', 'list')).toMatch(row);
    expect(await says('etcd', 'status')).toContain('alarm:NOSPACE');
    expect(await says('etcd', 'alarm', 'disarm')).toMatch(row);
    expect(await says('etcd', 'alarm', 'list')).toBe('');
  });

  it('defragments', async () => {
    fixture.world.runner.fillEtcd('one', { bytes: 80_000_000, inUse: 20_000_000 });
    expect(await says('etcd', 'status')).toMatch(/80 MB +20 MB \(25\.00%\)/);
    await says('etcd', 'defrag');
    expect(await says('etcd', 'status')).toMatch(/20 MB +20 MB \(100\.00%\)/);
  });

  it('saves a snapshot, in which it finds every object', async () => {
    await withKube((client) => client.create(ConfigMap, map('before')));
    const saved = await says('etcd', 'snapshot', 'db.snapshot');
    expect(saved).toMatch(/etcd snapshot saved to "db\.snapshot" \(\d+ bytes\)/);
    const [, revision = 0, keys = 0] = /revision (\d+), total keys (\d+)/.exec(saved)?.map(Number) ?? [];
    expect(revision).toBeGreaterThanOrEqual(keys);
    expect(keys).toBeGreaterThan(10);
    const file = readFileSync(join(fixture.folder, 'db.snapshot'));
    const database = file.subarray(0, -32);
    expect(database.length % 512).toBe(0);
    expect(createHash('sha256').update(database).digest()).toEqual(file.subarray(-32));
  });

  it('restores the snapshot on a node without data, and nowhere else', async () => {
    await withKube((client) => client.create(ConfigMap, map('after')));
    expect(await fails('bootstrap', '--recover-from', 'db.snapshot')).toContain('etcd data directory is not empty');
    const reset = ['reset', '--graceful=false', '--reboot', '--wait=false', '--system-labels-to-wipe', 'EPHEMERAL'];
    const boots = fixture.world.runner.node('one')?.boots ?? 0;
    await says(...reset);
    await waitUntilDefined('another boot', () => (fixture.world.runner.node('one')?.boots ?? 0) > boots);
    const recovered = await waitUntilDefined('the recovery', async () => {
      const { code, text } = await fixture.run(...on(['bootstrap', '--recover-from', 'db.snapshot']));
      return code === 0 && text;
    });
    expect(recovered).toMatch(/recovering from snapshot "db\.snapshot": hash [0-9a-f]{8}, revision \d+/);
    await awaitNodesReady(fixture, 'one');
    expect((await says('etcd', 'members')).match(/:2379 +false/g)).toHaveLength(1);
    expect(await waitUntilDefined('the API server', () => hasMap('before'))).toBe(true);
    expect(await hasMap('after')).toBe(false);
  });
});
