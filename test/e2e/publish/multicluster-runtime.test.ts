import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { InventoryProfile } from '../../../src/controllers/publish/inventory/inventory-types.ts';
import { CustomResourceDefinition, Secret } from '../../../src/kube/core-types.ts';
import { findPeer, missingPeers, type PeerName } from '../../peers/find-peer.ts';
import { type PeerProcess, startPeerProcess } from '../../peers/peer-process.ts';
import { eventually } from '../../support/eventually.ts';
import { multiclusterCrd } from '../../support/fixtures/multicluster-crds.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { restartNodesByRollout } from '../support/access/change-nodes.ts';
import { agedToken, publishedHelpers, publishedKubeconfig, readerRole } from '../support/access/published.ts';
import { ConfigMap, withAdminClient } from '../support/access/workload-cluster.ts';
import { printMeasurement } from '../support/observation/print-measurement.ts';
import { missingForRealPlatformCluster } from '../support/testbed/real-platform-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** While a cluster does not answer, its consumers log each attempt. */
const keptLines = 50_000;
const missing = missingPeers('mcr-kubeconfig') ?? missingForRealWorkload() ?? missingForRealPlatformCluster();
if (missing) it('controllers of multicluster-runtime engage a published cluster', ({ skip }) => skip(missing));
else withConsumers();

function withConsumers(): void {
  const open = startTestbed({ subnet: '127.43.132', platform: 'real', workload: 'real' });
  const cluster = { namespace: 'shop', name: 'main' };
  const { name, secret, makeReaderRole, isPublished } = publishedHelpers(open, cluster);
  const inventoryName = `fleet/${name}`;
  const missingInventory = missingPeers('mcr-inventory', 'kubeconfig-secretreader');
  const running = new Map<string, PeerProcess>();
  let folder: string;

  const consumer = (peer: PeerName): PeerProcess => {
    const program = running.get(peer);
    if (!program) throw new Error(`${peer} was not started`);
    return program;
  };
  /** The lines of a consumer that name the cluster and have this text. */
  const linesOf = (peer: PeerName, text: string): string[] =>
    consumer(peer)
      .tail()
      .split('\n')
      .filter((line) => line.includes(name) && line.includes(text));
  const says = (peer: PeerName, text: string): Promise<unknown> =>
    eventually(`${peer} says: ${text}`, () => linesOf(peer, text).length > 0).catch((error: unknown) => {
      process.stderr.write(`--- ${peer}\n${consumer(peer).tail()}\n`);
      throw error;
    });
  const makeConfigMap = (called: string): Promise<unknown> =>
    withAdminClient(open(), cluster, (admin) =>
      admin.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name: called },
      }),
    );
  const seesNew = async (peer: PeerName, called: string): Promise<void> => {
    await makeConfigMap(called);
    await says(peer, called);
  };
  const start = (peer: PeerName, ...args: string[]): void => {
    const path = findPeer(peer) ?? '';
    const env = { ...process.env, KUBECONFIG: open().world.kubeconfig };
    running.set(peer, startPeerProcess({ path, args, env, keptLines }));
  };
  const renewToken = async (secretName: string): Promise<void> => {
    const before = publishedKubeconfig(await secret(secretName));
    const key = { namespace: 'fleet', name: `${name}${secretName}` };
    await open().platform.merge(Secret, key, { metadata: { annotations: agedToken() } });
    await eventually('the token is another', async () => publishedKubeconfig(await secret(secretName)) !== before);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'consumers-'));
  });
  afterAll(async () => {
    for (const program of running.values()) await program.stop();
    await rm(folder, { recursive: true, force: true });
  });

  prepareTestbed(open, async ({ objects, platform }) => {
    await platform.create(CustomResourceDefinition, multiclusterCrd('ClusterProfile'));
    await objects.ensureNamespace('fleet');
    start('mcr-kubeconfig', '--namespace', 'fleet');
    if (!missingInventory) {
      const execConfig = {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: findPeer('kubeconfig-secretreader'),
        provideClusterInfo: true,
      };
      const file = join(folder, 'providers.json');
      await writeFile(file, JSON.stringify({ providers: [{ name: 'kubeconfig-secretreader', execConfig }] }));
      start('mcr-inventory', `--clusterprofile-provider-file=${file}`);
    }
    await objects.credentials();
    const section = { namespace: 'fleet', clusterRole: readerRole };
    await objects.config('home', {
      change: (spec) => Object.assign(spec, { publish: { kubeconfigSecret: section, clusterProfile: section } }),
    });
    await objects.cluster(cluster);
    await isPublished('False', 'ClusterRoleMissing');
    await makeReaderRole();
    await isPublished('True');
  });

  describe('M1, M2: the Kubeconfig provider of multicluster-runtime', () => {
    it('engages the cluster, and sees what is created in it', async () => {
      await says('mcr-kubeconfig', 'Successfully added cluster');
      const published = (await secret()).metadata.creationTimestamp ?? '';
      printMeasurement('engaged', { secondsAfterThePublication: (Date.now() - Date.parse(published)) / 1000 });
      await seesNew('mcr-kubeconfig', 'first');
    });

    it('engages it once more for a renewed token, under the same name', async () => {
      await renewToken('');
      await says('mcr-kubeconfig', 'Cluster already exists, updating it');
      await seesNew('mcr-kubeconfig', 'second');
      expect(linesOf('mcr-kubeconfig', 'Cluster already exists, updating it')).toHaveLength(1);
    });
  });

  describe('M7, M11: the Cluster Inventory provider of multicluster-runtime, with the credential plug-in', () => {
    it('engages the cluster, and sees what is created in it', async ({ skip }) => {
      if (missingInventory) skip(missingInventory);
      await says('mcr-inventory', 'Cluster engaged manager for ClusterProfile');
      await seesNew('mcr-inventory', 'third');
      expect(linesOf('mcr-inventory', inventoryName)).not.toEqual([]);
    });

    it('goes on with a renewed token without being engaged anew', async ({ skip }) => {
      if (missingInventory) skip(missingInventory);
      const before = (await open().platform.get(InventoryProfile, { namespace: 'fleet', name })).metadata;
      await renewToken('-profile');
      await seesNew('mcr-inventory', 'fourth');
      const after = (await open().platform.get(InventoryProfile, { namespace: 'fleet', name })).metadata;
      expect(after.resourceVersion).toBe(before.resourceVersion);
      expect(linesOf('mcr-inventory', 're-engaging')).toEqual([]);
    });
  });

  it('M1, M7: they stay engaged while a rollout restarts the only node, and go on afterwards', async () => {
    const engagements = () => ({
      kubeconfig: linesOf('mcr-kubeconfig', 'Successfully').length,
      inventory: missingInventory ? 0 : linesOf('mcr-inventory', 'engag').length,
    });
    const versions = async () => [
      (await secret()).metadata.resourceVersion,
      (await secret('-profile')).metadata.resourceVersion,
    ];
    const before = { engagements: engagements(), versions: await versions() };
    expect(before.engagements.kubeconfig).toBeGreaterThan(0);
    await restartNodesByRollout(open(), cluster);
    await seesNew('mcr-kubeconfig', 'after-the-rollout');
    if (!missingInventory) await says('mcr-inventory', 'after-the-rollout');
    expect({ engagements: engagements(), versions: await versions() }).toEqual(before);
  });

  it('M3, M13: they let go before any machine is touched', async () => {
    const { objects } = open();
    const touched = async () =>
      (await objects.machines(cluster)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    await objects.remove(Cluster, cluster);
    await says('mcr-kubeconfig', 'Successfully removed cluster and cancelled cluster context');
    expect(await touched()).toEqual([]);
    if (!missingInventory) {
      await says('mcr-inventory', 'not found');
      expect(await touched()).toEqual([]);
    }
    // The cluster is still served, and nobody looks at it any more.
    await makeConfigMap('late');
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, cluster)));
    expect(linesOf('mcr-kubeconfig', 'late')).toEqual([]);
    if (!missingInventory) expect(linesOf('mcr-inventory', '"late"')).toEqual([]);
  });
}
