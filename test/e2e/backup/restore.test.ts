import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Condition } from '../../../src/api/conditions.ts';
import { annotations, machineName, openmcpKeys } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import { ConfigMap, withAdminClient } from '../support/access/workload-cluster.ts';
import { BackupBucket, identitySecretName } from '../support/backup/backup-bucket.ts';
import { loseEtcdData } from '../support/backup/lose-etcd-data.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

describeUnlessMissing('D54: etcd that lost its quorum is restored from a backup', missingPeers('versitygw'), () => {
  const open = startTestbed({ subnet: '127.42.246', speed: 20, provider: { leaseSeconds: 12 } });
  const cluster = { namespace: 'shop', name: 'main' };
  const names = [0, 1, 2].map((slot) => machineName(cluster, 'cp', slot));
  const { ask, granted, isGranted, isReady } = accessHelpers(open, cluster);
  let bucket: BackupBucket;
  let key: string;
  let listing: readonly string[];

  beforeAll(async () => {
    bucket = await BackupBucket.open();
  }, 60_000);
  afterAll(async () => await bucket?.close());

  prepareTestbed(open, async (testbed) => {
    const { objects } = testbed;
    await objects.credentials();
    await bucket.giveSecrets(testbed);
    await objects.config('home', {
      controlPlanes: 3,
      workers: 2,
      change: (spec) => Object.assign(spec, { backup: bucket.spec }),
    });
    await objects.cluster(cluster);
    await isReady();
    await granted('before', { permissions: [{ rules: coreReadRules('configmaps') }] });
  });

  const condition = async (type: string): Promise<Condition | undefined> =>
    (await open().objects.getCluster(cluster)).status?.conditions?.find((one) => one.type === type);
  const hasReason = (reason: string) =>
    eventually(
      `the condition EtcdRestored has the reason ${reason}`,
      async () => (await condition('EtcdRestored'))?.reason === reason,
      120,
    );
  const annotate = (notes: Record<string, string | null>) => open().objects.annotate(Cluster, cluster, notes);
  const write = (name: string) =>
    withAdminClient(open(), cluster, (admin) =>
      admin.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name },
        data: { name },
      }),
    );
  /** What users have written, with the revisions of the objects. */
  const listMaps = () =>
    withAdminClient(open(), cluster, async (admin) => {
      const { items } = await admin.list(ConfigMap, { namespace: 'default' });
      return items.map(({ metadata }) => [metadata.name, metadata.uid, metadata.resourceVersion].join(' '));
    });
  const resets = () => open().calls.filter(({ name }) => name.endsWith('/Reset'));

  /** Two control planes lose their data at the same time, as by a wrong command. */
  async function loseQuorum(): Promise<void> {
    const machines = await open().objects.machines(cluster);
    const lost = machines.filter(({ metadata }) => names.slice(0, 2).includes(metadata.name));
    await loseEtcdData(open(), cluster, lost);
    await eventually(
      'the API server does not answer',
      async () => (await condition('EndpointReachable'))?.status === 'False',
      120,
    );
  }

  /** The Node of the other worker is in the backup. */
  async function scaleWorkers(replicas: number): Promise<void> {
    const workerPools = [{ name: 'work', replicas, size: 'small' }];
    await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools } } as object);
    await eventually(
      'a worker is gone',
      async () => (await open().objects.machines(cluster)).length === 3 + replicas,
      90,
    );
  }

  it('a request is described and not met while etcd works', async () => {
    await write('before-1');
    await write('before-2');
    listing = await listMaps();
    key = await bucket.take(open(), cluster);
    await write('after-1');
    await granted('between', { permissions: [{ rules: coreReadRules('configmaps') }] });
    await scaleWorkers(1);
    await annotate({ [annotations.restore]: key, [annotations.restoreIdentity]: identitySecretName });
    await hasReason('EtcdHasQuorum');
    expect((await condition('EtcdRestored'))?.message).toMatch(/ETCD WORKS.*approve: EtcdHasQuorum/);
    await annotate({ [annotations.approve]: 'RestoreNotApproved' });
    await hasReason('EtcdHasQuorum');
    expect((await open().objects.getCluster(cluster)).status?.phase).toBe('Ready');
    await annotate({ [annotations.approve]: null });
  });

  it('after the loss of the quorum the condition says what is lost, and nothing is done', async () => {
    await loseQuorum();
    const before = resets().length;
    await hasReason('RestoreNotApproved');
    const { message } = (await condition('EtcdRestored')) ?? {};
    for (const part of [key, ...names, 'approve: RestoreNotApproved', 'Other volumes are no part of it'])
      expect(message).toContain(part);
    expect(resets()).toHaveLength(before);
  });

  it('with the approval, the API server serves exactly what was written before the snapshot', async () => {
    const before = resets().length;
    const machines = (await open().objects.machines(cluster)).map(({ metadata }) => metadata.uid);
    await annotate({ [annotations.approve]: 'RestoreNotApproved' });
    await eventually('etcd is restored', async () => (await condition('EtcdRestored'))?.status === 'True', 90);
    expect(await listMaps()).toEqual(listing);
    expect(resets()).toHaveLength(before + 3);
    expect((await open().objects.machines(cluster)).map(({ metadata }) => metadata.uid)).toEqual(machines);
    await isReady();
    const { metadata, status } = await open().objects.getCluster(cluster);
    for (const note of [annotations.restore, annotations.restoreIdentity, annotations.approve])
      expect(metadata.annotations?.[note]).toBeUndefined();
    expect(status?.providerStatus?.['restore']).toMatchObject({ key, completedAt: expect.any(String) });
  });

  it('AccessRequests work again, and so do new objects', async () => {
    await isGranted('before');
    await eventually(
      'the granted access holds',
      async () => (await ask('before', (kube) => kube.list(ConfigMap))) === 'allowed',
      60,
    );
    await isGranted('between');
    await eventually(
      'access that was granted after the backup is granted again',
      async () => (await ask('between', (kube) => kube.list(ConfigMap)).catch(() => 0)) === 'allowed',
      60,
    );
    await granted('later', { permissions: [{ rules: coreReadRules('configmaps') }] });
    await write('later');
    expect(await listMaps()).toHaveLength(listing.length + 1);
  });

  it('the Node of a machine that does not exist any more is removed', async () => {
    const listNodes = () =>
      withAdminClient(open(), cluster, async (admin) =>
        (await admin.list(KubeNode)).items.map(({ metadata }) => metadata.name),
      );
    const machines = (await open().objects.machines(cluster)).map(({ metadata }) => metadata.name);
    expect(machines).toHaveLength(4);
    await eventually(
      'every Node has a Machine',
      async () => {
        await open().objects.annotate(Cluster, cluster, { [openmcpKeys.operation]: 'reconcile' });
        return (await listNodes()).sort().join() === machines.sort().join();
      },
      90,
    );
    expect(open().faults()).toEqual([]);
  });
});
