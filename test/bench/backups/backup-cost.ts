import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { annotations } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { readSecretsBundle } from '../../e2e/support/access/workload-cluster.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { type S3Server, startVersitygw } from '../../peers/versitygw.ts';
import { eventually } from '../../support/eventually.ts';
import { elapsedMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { residentMiB } from '../process-stats.ts';
import { backUpWithPrograms } from './programs.ts';
import { type SnapshotNode, startSnapshotNode } from './snapshot-node.ts';

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
 * A scheduled backup of half a gigabyte by the built program, and the same snapshot with programs, in turn. Both read the
 * same node over gRPC: a program that answers in place of the simulated one. Last, the programs without a node.
 */
export async function measureBackup(say: (line: string) => void): Promise<readonly Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), 'backup-cost-'));
  const file = join(folder, 'snapshot');
  await writeFile(file, makeSnapshot(snapshotMiB));
  const server = await startVersitygw('127.0.0.1', folder);
  const testbed = await Testbed.open({
    subnet: '127.42.254',
    timeScale: 0.005,
    provider: { asProgram: { speed: 1 } },
  });
  let node: SnapshotNode | undefined;
  try {
    const recipient = await identityToRecipient(await generateIdentity());
    await startKeptCluster(testbed, server, recipient);
    // What the first one loads is no cost of a large snapshot.
    await backUp(testbed);
    node = await replaceNode(testbed, { file, folder });
    const { readCommand } = node;
    const withPrograms = async (reader: readonly string[]): Promise<number> =>
      (await elapsedMs(() => backUpWithPrograms({ folder, server, recipient }, reader))) / 1000;
    const ours: number[] = [];
    const theirs: number[] = [];
    const ofFile: number[] = [];
    const growth: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const { seconds, mebibytes } = await watchMemory(testbed, () => backUp(testbed));
      ours.push(seconds);
      growth.push(mebibytes);
      theirs.push(await withPrograms(readCommand));
      ofFile.push(await withPrograms(['cat', file]));
      const others = [theirs, ofFile].map((times) => `${times.at(-1)?.toFixed(1)} s`).join(' and ');
      say(`ours ${seconds.toFixed(1)} s and ${mebibytes.toFixed(0)} MiB, programs ${others}`);
    }
    const ratioTo = (times: readonly number[]) => {
      const words = `${median(ours).toFixed(1)} s ÷ ${median(times).toFixed(1)} s, medians of ${turns}`;
      return [median(ours), median(times), 1.25, words] as const;
    };
    const { measured } = ratioMeasurement('', ...ratioTo(ofFile));
    const most = Math.max(...growth);
    return [
      ratioMeasurement(
        `A backup of ${snapshotMiB} MiB, verified, and compared with what the server has ÷ a client of gRPC in Go, piped to \`age\`, then \`curl\``,
        ...ratioTo(theirs),
      ),
      { what: 'The same ÷ `cat FILE`, piped to `age`, then `curl`, without a node', measured, goal: '' },
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
    await node?.stop();
    await testbed.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The simulated node hangs, and the program gets its address. */
async function replaceNode(
  testbed: Testbed,
  files: { readonly file: string; readonly folder: string },
): Promise<SnapshotNode> {
  const { machines } = testbed.world;
  const [node] = machines.nodes();
  const address = node?.addresses[0];
  if (!node || address === undefined) throw new Error('there is no node with an address');
  machines.hang(node.name);
  await eventually('the simulated node is silent', async () => machines.node(node.name)?.listening !== true);
  return await startSnapshotNode(await readSecretsBundle(testbed, ref), { address, ...files });
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
