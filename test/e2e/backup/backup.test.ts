import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { annotations, clusterSecretsName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { formatBackupTime } from '../../../src/backup/backup-keys.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { chooseEtcdSettings, readEtcdSnapshot, startEtcd } from '../../peers/etcd.ts';
import { restoreSnapshot } from '../../peers/etcdutl.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { type S3Server, startVersitygw } from '../../peers/versitygw.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import { AdjustableClock } from '../support/provider-process/adjustable-clock.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingPeers('etcd', 'etcdutl', 'versitygw');

describeUnlessMissing('D49, D50, D51, D52, D53: scheduled backups', missing, () => {
  const clock = new AdjustableClock(20);
  const open = startTestbed({ subnet: '127.42.240', clock, provider: { leaseSeconds: 12 } });
  const ref = { namespace: 'shop', name: 'kept' };
  const keep = 2;
  let folder: string;
  let server: S3Server;
  let identity: string;

  /** A snapshot of a real etcd, which the simulated nodes give as theirs. */
  async function readRealSnapshot(): Promise<Buffer> {
    const settings = await chooseEtcdSettings('127.0.0.1', folder);
    const etcd = await startEtcd(settings);
    try {
      return Buffer.concat(await readEtcdSnapshot(settings.url));
    } finally {
      await etcd.stop();
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'backups-'));
    server = await startVersitygw('127.0.0.1', folder);
    identity = await generateIdentity();
  }, 90_000);

  prepareTestbed(open, async ({ objects, world }) => {
    world.machines.snapshots.content = await readRealSnapshot();
    await objects.credentials();
    await giveKey(server.secretAccessKey);
    const backup = {
      ...{ schedule: '0 * * * *', keep, recipients: [await identityToRecipient(identity)] },
      s3: {
        ...{ endpoint: server.endpoint, bucket: server.bucket, prefix: 'talos/test', caBundle: server.ca },
        credentialsRef: { name: 's3' },
      },
    };
    await objects.config('home', { controlPlanes: 3, change: (spec) => Object.assign(spec, { backup }) });
    await objects.cluster(ref);
    await eventually(
      'the Cluster is ready',
      async () => (await objects.getCluster(ref)).status?.phase === 'Ready',
      120,
    );
  });
  afterEach(() => open().world.machines.snapshots.faults.clear());
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const giveKey = (secretAccessKey: string) =>
    open().objects.credentials('s3', { accessKeyId: server.accessKeyId, secretAccessKey });
  const condition = async () =>
    (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'BackedUp');
  const record = async () =>
    (await open().objects.getCluster(ref)).status?.providerStatus?.['backup'] as Record<string, unknown> | undefined;
  const eventsOf = async (reason: string) =>
    (await open().platform.list(Event, { namespace: ref.namespace })).items.filter((one) => one.reason === reason);

  /** The objects of the cluster, as paths in the folder of the bucket, the oldest first. */
  async function stored(): Promise<string[]> {
    const all = await readdir(server.folder, { recursive: true, withFileTypes: true });
    return all
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('.sgwtmp'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  }
  const manifests = async () => (await stored()).filter((path) => path.endsWith('.json'));

  /** The next time of the schedule, and the longest spread. */
  async function nextHour(): Promise<void> {
    clock.advance(65);
  }
  async function backUp(): Promise<void> {
    const before = (await record())?.['lastSuccess'];
    await nextHour();
    await eventually('a backup is taken', async () => (await record())?.['lastSuccess'] !== before);
  }
  const askForBackup = () =>
    open().platform.merge(Cluster, ref, { metadata: { annotations: { [annotations.takeBackup]: 'now' } } }, {});
  /** The node that was asked for a snapshot last. */
  const lastAsked = () => open().calls.findLast(({ name }) => name.endsWith('/EtcdSnapshot'))?.detail;
  async function decrypt(path: string): Promise<Buffer> {
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    return Buffer.from(await decrypter.decrypt(await readFile(path)));
  }

  it('begin at the next time of the schedule, and are reported on the Cluster', async () => {
    await eventually('a backup is pending', async () => (await condition())?.reason === 'BackupPending');
    expect(await stored()).toEqual([]);
    await backUp();
    const files = await stored();
    expect(files.map((path) => path.slice(path.lastIndexOf('/') + 1).replace(/^\d{8}T\d{6}Z/, 'TIME'))).toEqual([
      'TIME.etcd.age',
      'TIME.json',
      'TIME.objects.age',
      'TIME.secrets.age',
    ]);
    const { metadata, status } = await open().objects.getCluster(ref);
    const owner = [await open().installation(), ref.namespace, ref.name, metadata.uid].join('/');
    for (const path of files) expect(path).toContain(`/talos/test/${owner}/`);
    expect(await condition()).toMatchObject({
      status: 'True',
      message: expect.stringContaining('.etcd.age. The next'),
    });
    expect(status?.phase).toBe('Ready');
    expect((await eventsOf('BackupTaken'))[0]?.message).toMatch(/^A backup was taken: \d+ bytes of etcd from kept-/);
  });

  it('hold a snapshot that etcd accepts, and the Secrets of the cluster', async () => {
    const [etcd = '', , , secrets = ''] = await stored();
    const path = join(folder, 'snapshot');
    const snapshot = await decrypt(etcd);
    expect(snapshot.equals(open().world.machines.snapshots.content ?? Buffer.alloc(0))).toBe(true);
    await writeFile(path, snapshot);
    expect(restoreSnapshot(path, folder)).toContain('restored snapshot');
    const [bundle] = parseAllDocuments((await decrypt(secrets)).toString('utf8')).map((one) => one.toJS());
    expect(bundle).toMatchObject({ kind: 'Secret', metadata: { name: clusterSecretsName(ref) } });
    const inClear = Buffer.concat(await Promise.all((await stored()).map((file) => readFile(file))));
    expect(inClear.includes('PRIVATE KEY')).toBe(false);
  });

  it('are listed, verified and fetched by a command, with rights that only read', async () => {
    const kubeconfig = await open().kubeconfigWith('config/rbac/looking.yaml');
    const backups = (action: string, ...words: string[]) =>
      runProgram('backups', action, '--provider-config=home', '--kubeconfig', kubeconfig, ...words);
    const [etcd = ''] = await stored();
    const key = relative(server.folder, etcd);
    const listed = await backups('list');
    expect(listed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^TIME .*\n\S+Z +shop\/kept +1\.35\.4 .* yes +/),
    });
    expect(listed.out.trim().endsWith(key)).toBe(true);
    expect((await backups('list', '--cluster=shop/other')).out).toBe('There are no backups.\n');

    const [entry, ...others] = readOutput('backups list', (await backups('list', '--output', 'json')).out).backups;
    expect([entry, others]).toMatchObject([{ namespace: 'shop', name: 'kept', isComplete: true, key }, []]);

    const identityFile = join(folder, 'identity');
    await writeFile(identityFile, `# created: today\n${identity}\n`);
    expect((await backups('verify', '--key', key)).out).toContain(`${key}: as it was written.`);
    const verified = await backups('verify', '--cluster=shop/kept', '--identity', identityFile);
    expect(verified.out).toContain(`${key}: whole, and can be decrypted.`);

    const asYaml = await backups('verify', '--key', key, '--output=yaml');
    expect(readOutput('backups verify', asYaml.out).verified).toContainEqual({ key, isDecrypted: false });

    const output = await mkdtemp(join(folder, 'fetched-'));
    const fetched = await backups('fetch', '--key', key, '--identity', identityFile, '--output-folder', output);
    const [snapshot = '', secrets = ''] = fetched.out.trim().split('\n');
    expect((await readFile(snapshot)).equals(open().world.machines.snapshots.content ?? Buffer.alloc(0))).toBe(true);
    expect(await readFile(secrets, 'utf8')).toContain('kind: Secret');
    for (const path of [snapshot, secrets]) expect((await stat(path)).mode & 0o777).toBe(0o600);
    const encrypted = await backups('fetch', '--key', key, '--output-folder', output, '-o', 'json');
    for (const path of readOutput('backups fetch', encrypted.out).files) expect(path).toMatch(/\.age$/);
    expect((await readdir(output)).map((name) => name.replace(/\d{8}T\d{6}Z/, 'TIME')).sort()).toEqual([
      ...['shop-kept-TIME.etcd.age', 'shop-kept-TIME.etcd.db'],
      ...['shop-kept-TIME.objects.age', 'shop-kept-TIME.objects.yaml'],
      ...['shop-kept-TIME.secrets.age', 'shop-kept-TIME.secrets.yaml'],
    ]);
  });

  it('that were changed in the bucket are found out, and nothing of them is left', async () => {
    const kubeconfig = await open().kubeconfigWith('config/rbac/looking.yaml');
    const [etcd = ''] = await stored();
    const whole = await readFile(etcd);
    const changed = Buffer.from(whole);
    changed[changed.length - 20] = (changed.at(-20) ?? 0) ^ 1;
    await writeFile(etcd, changed);
    const output = await mkdtemp(join(folder, 'fetched-'));
    const words = [
      '--provider-config=home',
      '--cluster=shop/kept',
      '--kubeconfig',
      kubeconfig,
      '--output-folder',
      output,
    ];
    for (const more of [[], ['--identity', join(folder, 'identity')]]) {
      expect(await runProgram('backups', 'verify', ...words, ...more)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/The backup cannot be used\. .*etcd\.age: .*Use another backup/),
      });
      expect((await runProgram('backups', 'fetch', ...words, ...more)).code).toBe(1);
    }
    expect(await readdir(output)).toEqual([]);
    await writeFile(etcd, whole);
    await writeFile(join(folder, 'other'), await generateIdentity());
    const other = await runProgram('backups', 'verify', ...words, '--identity', join(folder, 'other'));
    expect(other).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--identity: no identity of the file decrypts/),
    });
  });

  it('are taken on request, and the request is removed', async () => {
    const before = (await manifests()).length;
    await askForBackup();
    await eventually('another backup is there', async () => (await manifests()).length > before);
    await eventually('the request is over', async () => {
      const { metadata } = await open().objects.getCluster(ref);
      return metadata.annotations?.[annotations.takeBackup] === undefined;
    });
  });

  it('are kept in the number that is asked for', async () => {
    const [oldest = ''] = await manifests();
    await backUp();
    await eventually('the oldest one is deleted', async () => !(await stored()).includes(oldest));
    expect(await stored()).toHaveLength(4 * keep);
  });

  it('leave nothing of a damaged snapshot, and say so until one is whole', async () => {
    const before = await stored();
    const { faults } = open().world.machines.snapshots;
    faults.add('changed');
    await nextHour();
    await eventually('the failure is reported', async () => (await condition())?.reason === 'BackupFailed');
    expect(await condition()).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/checksum.*last backup/),
    });
    expect(await stored()).toEqual(before);
    expect(await server.unfinishedUploads()).toBe(0);
    faults.clear();
    const failed = lastAsked();
    clock.advance(5);
    await eventually('the next attempt succeeds', async () => (await condition())?.status === 'True');
    expect(lastAsked()).not.toEqual(failed);
    expect(await stored()).toHaveLength(4 * keep);
    expect(await eventsOf('BackupFailed')).toHaveLength(1);
    expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
  });

  it('end when a node sends nothing any more, and name it', async () => {
    const before = await stored();
    const { faults } = open().world.machines.snapshots;
    faults.add('stalled');
    await nextHour();
    await eventually('the failure is reported', async () => (await condition())?.reason === 'BackupFailed', 60);
    expect((await condition())?.message).toMatch(
      /The snapshot of kept-\S+ is not kept: nothing of it has arrived for 60 s/,
    );
    expect(await server.unfinishedUploads()).toBe(0);
    expect(await stored()).toEqual(before);
    faults.clear();
    clock.advance(5);
    await eventually('the next attempt succeeds', async () => (await condition())?.status === 'True');
  });

  it('name the Secret whose key is wrong', async () => {
    await giveKey('wrong');
    await askForBackup();
    await eventually('the failure is reported', async () => (await condition())?.reason === 'BackupFailed');
    expect((await condition())?.message).toMatch(/spec\.backup\.s3\.credentialsRef: .* of Secret s3\./);
    await giveKey(server.secretAccessKey);
    await askForBackup();
    await eventually('the corrected key is used', async () => (await condition())?.status === 'True');
  });

  it('are begun again after the process was killed during an upload, whose parts are removed', async () => {
    const { faults } = open().world.machines.snapshots;
    faults.add('stalled');
    await nextHour();
    await eventually('an upload is under way', async () => (await server.unfinishedUploads()) === 1);
    await open().provider.kill();
    faults.clear();
    const before = (await record())?.['lastSuccess'];
    open().provider.start();
    await eventually('the backup is taken', async () => (await record())?.['lastSuccess'] !== before, 90);
    expect(await server.unfinishedUploads()).toBe(0);
    expect(await stored()).toHaveLength(4 * keep);
  });

  it('are not taken twice by a process that starts again, even if their report was lost', async () => {
    const before = await stored();
    await open().provider.stop();
    const { status } = await open().objects.getCluster(ref);
    const lost = {
      ...(status?.providerStatus?.['backup'] as object),
      lastSuccess: '2026-01-01T00:00:00Z',
      key: 'older',
    };
    await open().platform.merge(
      Cluster,
      ref,
      { status: { providerStatus: { backup: lost } } },
      { subresource: 'status' },
    );
    open().provider.start();
    await eventually('the backup is found', async () => (await record())?.['key'] !== 'older', 90);
    expect(await stored()).toEqual(before);
    expect(await record()).toMatchObject({ bytes: expect.any(Number), failures: 0 });
  });

  it('go on with the next time of the schedule after the clock was set back by hours', async () => {
    const lastSuccess = async () => String((await record())?.['lastSuccess']);
    const ahead = await lastSuccess();
    clock.advance(-180);
    const corrected = await eventually('its time is corrected', async () => {
      const time = await lastSuccess();
      return time < ahead && time;
    });
    await nextHour();
    const taken = await eventually('a backup is taken', async () => {
      const time = await lastSuccess();
      return time !== corrected && time;
    });
    expect(Date.parse(taken)).toBeLessThanOrEqual(clock.now().getTime());
    expect((await manifests()).at(-1)).toContain(formatBackupTime(new Date(Date.parse(ahead) + 1000)));
    await eventually('the oldest one is deleted', async () => (await stored()).length === 4 * keep);
    expect((await condition())?.status).toBe('True');
  });

  it('precede an update that restarts control planes, which waits while they fail', async () => {
    const upToDate = async () =>
      (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
    const restarts = () => open().calls.filter(({ name }) => name === 'machine.MachineService/Reboot').length;
    const before = restarts();
    const { faults } = open().world.machines.snapshots;
    faults.add('changed');
    await nextHour();
    await eventually('a backup fails', async () => (await condition())?.reason === 'BackupFailed');
    const patch = { spec: { talos: { patches: [{ machine: { env: { GREETING: 'hello' } } }] } } };
    await open().platform.merge(ProviderConfig, { name: 'home' }, patch as object, {});
    await eventually('the update waits', async () =>
      (await upToDate())?.message.includes('A backup of etcd comes first'),
    );
    expect((await upToDate())?.message).toMatch(/the last one failed: .*checksum.* set the annotation rollout: now/);
    expect(restarts()).toBe(before);
    faults.clear();
    await askForBackup();
    await eventually('every node is updated', async () => (await upToDate())?.status === 'True', 180);
    expect(restarts()).toBe(before + 3);
  });

  it('stop with an invalid schedule, which both objects report', async () => {
    const setSchedule = async (schedule: string) =>
      await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { backup: { schedule } } } as object, {});
    await setSchedule('0 0 30 2 *');
    await eventually('the Cluster says so', async () => (await condition())?.reason === 'InvalidConfig');
    await eventually('the ProviderConfig names the field', async () => {
      const { status } = await open().platform.get(ProviderConfig, { name: 'home' });
      const found = status?.conditions?.find(({ type }) => type === 'ConfigValid');
      return found?.message.startsWith('backup.schedule: 0 0 30 2 * never occurs.');
    });
    await setSchedule('0 * * * *');
    await eventually('backups go on', async () => (await condition())?.status === 'True');
  });

  it('end with spec.backup, which the condition follows', async () => {
    await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { backup: null } }, {});
    await eventually('the condition is gone', async () => (await condition()) === undefined);
    expect(await stored()).toHaveLength(4 * keep);
    expect(open().faults()).toEqual([]);
  });
});
