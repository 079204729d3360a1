import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { annotations } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { agePath } from '../../peers/age.ts';
import { type S3Server, startVersitygw } from '../../peers/versitygw.ts';
import { eventually } from '../../support/eventually.ts';
import { elapsedMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { residentMiB } from '../process-stats.ts';

const ref: NamespacedRef = { namespace: 'bench', name: 'kept' };
const snapshotMiB = 500;
const turns = 3;

/** A snapshot that does not compress, with the checksum of etcd at its end. */
function makeSnapshot(mebibytes: number): Buffer {
  const database = Buffer.alloc(mebibytes * 2 ** 20);
  const noise = randomBytes(2 ** 20);
  for (let at = 0; at < database.length; at += noise.length) noise.copy(database, at);
  return Buffer.concat([database, createHash('sha256').update(database).digest()]);
}

/**
 * A scheduled backup of half a gigabyte by the built program, and the same bytes with age and curl, in turn. The programs
 * read a file, and the provider the stream of a simulated node, which takes a part of the same processors.
 */
export async function measureBackup(say: (line: string) => void): Promise<readonly Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), 'backup-cost-'));
  const content = makeSnapshot(snapshotMiB);
  const file = join(folder, 'snapshot');
  await writeFile(file, content);
  const server = await startVersitygw('127.0.0.1', folder);
  const testbed = await Testbed.open({
    subnet: '127.42.254',
    timeScale: 0.005,
    provider: { asProgram: { speed: 1 } },
  });
  try {
    const recipient = await identityToRecipient(await generateIdentity());
    await startKeptCluster(testbed, server, recipient);
    const takeBackup = () => backUp(testbed);
    // What the first one loads is no cost of a large snapshot.
    await takeBackup();
    testbed.world.machines.snapshots.content = content;
    const ours: number[] = [];
    const theirs: number[] = [];
    const growth: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const { seconds, mebibytes } = await watchMemory(testbed, takeBackup);
      ours.push(seconds);
      growth.push(mebibytes);
      theirs.push((await elapsedMs(() => encryptAndUpload({ file, folder, server, recipient }))) / 1000);
      say(`ours ${seconds.toFixed(1)} s and ${mebibytes.toFixed(0)} MiB, age and curl ${theirs.at(-1)?.toFixed(1)} s`);
    }
    const words = `${median(ours).toFixed(1)} s ÷ ${median(theirs).toFixed(1)} s, medians of ${turns}`;
    const most = Math.max(...growth);
    return [
      ratioMeasurement(
        `A backup of ${snapshotMiB} MiB, verified and read back ÷ \`age < FILE\`, then \`curl\``,
        ...([median(ours), median(theirs), 1.25, words] as const),
      ),
      {
        what: `Resident memory of the process during a backup of ${snapshotMiB} MiB, above that before it`,
        measured: `${most.toFixed(0)} MiB, the most of ${turns}`,
        goal: '≤ 32 MiB',
        reached: most <= 32,
      },
    ];
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function startKeptCluster(testbed: Testbed, server: S3Server, recipient: string): Promise<void> {
  const { objects } = testbed;
  const { endpoint, bucket, ca: caBundle, accessKeyId, secretAccessKey } = server;
  const s3 = { endpoint, bucket, caBundle, credentialsRef: { name: 's3' } };
  const backup = { schedule: '0 0 1 1 *', keep: 1, recipients: [recipient], s3 };
  testbed.provider.start();
  await objects.credentials();
  await objects.credentials('s3', { accessKeyId, secretAccessKey });
  await objects.config('kept', { change: (spec) => Object.assign(spec, { backup }) });
  await objects.cluster(ref, { config: 'kept' });
  const isReady = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the cluster is ready', isReady, 120);
}

/** Resolves with the seconds that the provider reports. */
async function backUp({ platform, objects }: Testbed): Promise<number> {
  const reportOf = async () => (await objects.getCluster(ref)).status?.providerStatus?.['backup'] as Report | undefined;
  const before = (await reportOf())?.lastSuccess;
  await platform.merge(Cluster, ref, { metadata: { annotations: { [annotations.takeBackup]: 'now' } } }, {});
  const report = await eventually(
    'a backup is taken',
    async () => {
      const found = await reportOf();
      return found?.lastSuccess !== before && found;
    },
    180,
  );
  return report.seconds ?? Number.NaN;
}

interface Report {
  readonly lastSuccess?: string;
  readonly seconds?: number;
}

/** The wall time of the work, and the most by which the memory of the provider grew meanwhile. */
async function watchMemory(
  { provider: { pid = 0 } }: Testbed,
  work: () => Promise<unknown>,
): Promise<{ readonly seconds: number; readonly mebibytes: number }> {
  const before = await residentMiB(pid);
  let most = before;
  const look = setInterval(async () => {
    most = Math.max(most, await residentMiB(pid));
  }, 50);
  try {
    const seconds = (await elapsedMs(work)) / 1000;
    return { seconds, mebibytes: most - before };
  } finally {
    clearInterval(look);
  }
}

/** What a person would do with two programs. Throws what they say if they fail. */
async function encryptAndUpload(at: {
  readonly file: string;
  readonly folder: string;
  readonly server: S3Server;
  readonly recipient: string;
}): Promise<void> {
  const { file, folder, server, recipient } = at;
  const encrypted = join(folder, 'snapshot.age');
  const input = openSync(file, 'r');
  const age = spawnSync(agePath(), ['--recipient', recipient, '--output', encrypted], {
    stdio: [input, 'pipe', 'pipe'],
  });
  closeSync(input);
  if (age.status !== 0) throw new Error(`age: ${age.stderr}`);
  const ca = join(folder, 'ca.pem');
  await writeFile(ca, server.ca);
  const curl = spawnSync('curl', [
    ...['--silent', '--show-error', '--fail', '--cacert', ca, '--aws-sigv4', 'aws:amz:us-east-1:s3'],
    ...[
      '--user',
      `${server.accessKeyId}:${server.secretAccessKey}`,
      '--header',
      'x-amz-content-sha256: UNSIGNED-PAYLOAD',
    ],
    ...['--upload-file', encrypted, `${server.endpoint}/${server.bucket}/plain/snapshot.age`],
  ]);
  if (curl.status !== 0) throw new Error(`curl: ${curl.stderr}`);
  const uploaded = await stat(join(server.folder, 'plain', 'snapshot.age'));
  if (uploaded.size !== (await stat(encrypted)).size) throw new Error('curl has uploaded something else');
}
