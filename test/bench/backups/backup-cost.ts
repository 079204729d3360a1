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
import { cpuSeconds, residentMiB } from '../process-stats.ts';
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
  const server = await startVersitygw('127.0.0.1', folder, { keepsConnections: true });
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
    const withPrograms = async (reader: readonly string[]): Promise<Cost> => {
      let processor = 0;
      const work = async () => {
        processor = await backUpWithPrograms({ folder, server, recipient }, reader);
      };
      return { seconds: (await elapsedMs(work)) / 1000, processor };
    };
    const ours: (Cost & { readonly mebibytes: number })[] = [];
    const theirs: Cost[] = [];
    const ofFile: Cost[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      ours.push(await watchProvider(testbed, () => backUp(testbed)));
      theirs.push(await withPrograms(readCommand));
      ofFile.push(await withPrograms(['cat', file]));
      const lines = [ours, theirs, ofFile].map((costs) => costs.at(-1)?.seconds.toFixed(1));
      say(`ours ${lines[0]} s and ${ours.at(-1)?.mebibytes.toFixed(0)} MiB, programs ${lines[1]} and ${lines[2]} s`);
    }
    return toMeasurements(ours, theirs, ofFile);
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

interface Cost {
  readonly seconds: number;
  /** Seconds of processor time. */
  readonly processor: number;
}

function toMeasurements(
  ours: readonly (Cost & { readonly mebibytes: number })[],
  theirs: readonly Cost[],
  ofFile: readonly Cost[],
): readonly Measurement[] {
  const ratio = (what: string, others: readonly Cost[], field: keyof Cost): Measurement => {
    const [own, other] = [median(ours.map((cost) => cost[field])), median(others.map((cost) => cost[field]))];
    const words = `${own.toFixed(1)} s ÷ ${other.toFixed(1)} s, medians of ${turns}`;
    return ratioMeasurement(what, own, other, 1.25, words);
  };
  const withoutGoal = ({ what, measured }: Measurement): Measurement => ({ what, measured, goal: '' });
  const most = Math.max(...ours.map(({ mebibytes }) => mebibytes));
  return [
    ratio(
      `A backup of ${snapshotMiB} MiB, verified, and compared with what the server has ÷ a client of gRPC in Go, piped to \`age\`, then \`curl\``,
      theirs,
      'seconds',
    ),
    withoutGoal(ratio('Processor time of the provider for it ÷ that of these three programs', theirs, 'processor')),
    withoutGoal(ratio('The same backup ÷ `cat FILE`, piped to `age`, then `curl`, without a node', ofFile, 'seconds')),
    {
      what: `Resident memory of the process during a backup of ${snapshotMiB} MiB, above that before it`,
      measured: `${most.toFixed(0)} MiB, the most of ${turns}`,
      goal: '≤ 32 MiB',
      reached: most <= 32,
    },
  ];
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

async function backUp({ platform, objects }: Testbed): Promise<void> {
  const reportOf = async () => (await objects.getCluster(ref)).status?.providerStatus?.['backup'] as Report | undefined;
  const before = (await reportOf())?.lastSuccess;
  await platform.merge(Cluster, ref, { metadata: { annotations: { [annotations.takeBackup]: 'now' } } }, {});
  const isTaken = async () => (await reportOf())?.lastSuccess !== before;
  await eventually('a backup is taken', isTaken, 180);
}

interface Report {
  readonly lastSuccess?: string;
}

/** The wall time of the work, what the provider has used, and the most by which its memory grew meanwhile. */
async function watchProvider(
  { provider: { pid = 0 } }: Testbed,
  work: () => Promise<unknown>,
): Promise<Cost & { readonly mebibytes: number }> {
  const [before, used] = [await residentMiB(pid), await cpuSeconds(pid)];
  let most = before;
  const look = setInterval(async () => {
    most = Math.max(most, await residentMiB(pid));
  }, 50);
  try {
    const startedAt = performance.now();
    await work();
    const seconds = (performance.now() - startedAt) / 1000;
    return { seconds, processor: (await cpuSeconds(pid)) - used, mebibytes: most - before };
  } finally {
    clearInterval(look);
  }
}
