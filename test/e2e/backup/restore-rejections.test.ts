import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity } from 'age-encryption';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { ConfigMap, etcdVoters, withAdminClient, withTalosAdminClient } from '../support/access/workload-cluster.ts';
import { BackupBucket, identitySecretName } from '../support/backup/backup-bucket.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

describeUnlessMissing('D54: a restore that cannot be done', missingPeers('versitygw'), () => {
  const open = startTestbed({ subnet: '127.42.248', speed: 60, provider: { leaseSeconds: 30 } });
  const cluster = { namespace: 'shop', name: 'one' };
  const other = { namespace: 'shop', name: 'other' };
  let bucket: BackupBucket;
  let key: string;
  let foreignKey: string;

  beforeAll(async () => {
    bucket = await BackupBucket.open();
  }, 60_000);
  afterAll(async () => await bucket?.close());

  prepareTestbed(open, async (testbed) => {
    const { objects } = testbed;
    await objects.credentials();
    await bucket.giveSecrets(testbed);
    await objects.credentials('other-identity', { identity: await generateIdentity() });
    await objects.credentials('no-identity', { identity: 'nothing' });
    await objects.config('home', { change: (spec) => Object.assign(spec, { backup: bucket.spec }) });
    for (const ref of [cluster, other]) await objects.cluster(ref);
    for (const ref of [cluster, other])
      await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 120);
    foreignKey = await bucket.take(testbed, other);
    await write('before');
    key = await bucket.take(testbed, cluster);
    await write('after');
  });

  const write = (name: string) =>
    withAdminClient(open(), cluster, (admin) =>
      admin.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } }),
    );
  const listMaps = () =>
    withAdminClient(open(), cluster, async (admin) =>
      (await admin.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name),
    );
  const state = async () =>
    (await open().objects.getCluster(cluster)).status?.conditions?.find(({ type }) => type === 'EtcdRestored');
  const resets = () => open().calls.filter(({ name }) => name.endsWith('/Reset'));
  const ask = (backup: string, identity: string, approved: string | null = 'RestoreNotApproved,EtcdHasQuorum') =>
    open().objects.annotate(Cluster, cluster, {
      ...{ [annotations.restore]: backup, [annotations.restoreIdentity]: identity },
      [annotations.approve]: approved,
    });
  async function awaitState(reason: string, message: RegExp): Promise<void> {
    await eventually(
      `EtcdRestored is ${reason}: ${message}`,
      async () => {
        const found = await state();
        return found?.reason === reason && message.test(found.message);
      },
      40,
    );
  }

  it.each<[string, () => readonly [string, string], RegExp]>([
    [
      'a key of another form',
      () => ['backup', identitySecretName],
      /annotations\[\S+\/restore\]: this is no key of a snapshot/,
    ],
    [
      'the key of the Secrets',
      () => [key.replace('etcd.age', 'secrets.age'), identitySecretName],
      /\/restore\]: this is no key of a snapshot/,
    ],
    [
      'a backup that does not exist',
      () => [key.replace(/\d{8}T/, '20200101T'), identitySecretName],
      /\/restore\]: there is no complete backup .* backups list prints/,
    ],
    ['the backup of another cluster', () => [foreignKey, identitySecretName], /is the backup of another cluster/],
    ['no Secret', () => [key, 'missing'], /\/restore-identity\]: there is no Secret missing with a key identity/],
    [
      'a Secret without a key identity',
      () => [key, 's3'],
      /\/restore-identity\]: there is no Secret s3 with a key identity/,
    ],
    [
      'an identity of another form',
      () => [key, 'no-identity'],
      /Secret no-identity has no line that begins with AGE-SECRET-KEY-/,
    ],
    [
      'an identity that does not fit',
      () => [key, 'other-identity'],
      /Secret other-identity has no identity that decrypts/,
    ],
    ['no identity', () => [key, ''], /\/restore-identity\]: name the Secret/],
  ])('%s is rejected, although it is approved, and nothing is wiped', async (_, request, message) => {
    await ask(...request());
    await awaitState('RestoreRejected', message);
    expect(resets()).toEqual([]);
    expect((await open().objects.getCluster(cluster)).status?.phase).toBe('Ready');
  });

  it('a backup that was changed in the bucket is rejected', async () => {
    const path = join(bucket.server.folder, key);
    const whole = await readFile(path);
    const changed = Buffer.from(whole);
    changed[changed.length - 20] = (changed.at(-20) ?? 0) ^ 1;
    await writeFile(path, changed);
    await ask(key, identitySecretName);
    await awaitState('RestoreRejected', /etcd\.age: .* Use another backup/);
    await rm(path);
    await awaitState('RestoreRejected', /there is no complete backup/);
    // The whole one could be restored.
    await open().objects.annotate(Cluster, cluster, { [annotations.approve]: null });
    await writeFile(path, whole);
    expect(resets()).toEqual([]);
  });

  it('a request that is taken back leaves no condition', async () => {
    await ask(key, identitySecretName, null);
    await awaitState('EtcdHasQuorum', /ETCD WORKS/);
    await open().objects.annotate(Cluster, cluster, { [annotations.restore]: null });
    await eventually('the condition is gone', async () => (await state()) === undefined, 60);
  });

  it('a control plane that is lost stops the restore, until its Machine is deleted', async () => {
    const { objects, world } = open();
    const three = { namespace: 'shop', name: 'three' };
    const [lost = '', wiped = ''] = [1, 2].map((slot) => machineName(three, 'cp', slot));
    const conditionOf = async () =>
      (await objects.getCluster(three)).status?.conditions?.find(({ type }) => type === 'EtcdRestored');
    const machineOf = (name: string) => open().platform.get(Machine, { name });
    await objects.config('three', { controlPlanes: 3, change: (spec) => Object.assign(spec, { backup: bucket.spec }) });
    await objects.cluster(three, { config: 'three' });
    await eventually('it is ready', async () => (await objects.getCluster(three)).status?.phase === 'Ready', 40);
    const backup = await bucket.take(open(), three);
    const uid = (await machineOf(lost)).metadata.uid;
    world.machines.hang(world.machines.nodes().find(({ hostname }) => hostname === lost)?.name ?? '');
    await withTalosAdminClient(open(), three, (await machineOf(wiped)).status?.address ?? '', (node) =>
      node.reset({ graceful: false, reboot: true, wipe: 'data' }),
    );
    await objects.annotate(Cluster, three, {
      ...{ [annotations.restore]: backup, [annotations.restoreIdentity]: identitySecretName },
      [annotations.approve]: 'RestoreNotApproved',
    });
    await eventually(
      'the lost machine is waited for',
      async () => {
        const found = await conditionOf();
        return found?.reason === 'RestoreWaiting' && found.message.includes(`${lost} does not answer: `);
      },
      20,
    );
    await open().platform.remove(Machine, { name: lost });
    await objects.annotate(Machine, { name: lost }, { [annotations.approve]: 'ApiServerSilent,EtcdSilent' });
    await eventually('etcd is restored', async () => (await conditionOf())?.status === 'True', 40);
    await eventually('it is ready', async () => (await objects.getCluster(three)).status?.phase === 'Ready', 40);
    expect((await machineOf(lost)).metadata.uid).not.toBe(uid);
    const [first = ''] = [machineName(three, 'cp', 0)];
    expect([...(await etcdVoters(open(), three, first)).keys()].sort()).toEqual([first, lost, wiped].sort());
  });

  it('a snapshot that the node cannot restore stops the restore, until another one is approved', async () => {
    const { snapshots } = open().world.machines;
    const before = resets().length;
    const database = randomBytes(1024);
    snapshots.content = Buffer.concat([database, createHash('sha256').update(database).digest()]);
    const useless = await bucket.take(open(), cluster);
    snapshots.content = undefined;
    await ask(useless, identitySecretName, 'EtcdHasQuorum');
    await awaitState('RestoreFailed', /integrity check failed.* Name another backup/);
    expect(resets()).toHaveLength(before + 1);
    await ask(key, identitySecretName, null);
    await awaitState('RestoreNotApproved', /Etcd has lost its quorum/);
    expect(resets()).toHaveLength(before + 1);
    await ask(key, identitySecretName, 'RestoreNotApproved');
    await eventually('etcd is restored', async () => (await state())?.status === 'True', 120);
    expect(await listMaps()).toEqual(['before', 'kube-root-ca.crt']);
    expect(open().faults()).toEqual([]);
  });
});
