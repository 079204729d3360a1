import { fleetName } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { type PeerProcess, startPeerProcess } from '../../peers/peer-process.ts';
import { eventually } from '../../support/eventually.ts';
import { type Measurement, median } from '../measurement.ts';

const rounds = 5;
/** A line for each ConfigMap of each cluster. */
const keptLines = 50_000;

/** How soon a controller of multicluster-runtime, unmodified, is engaged with a Cluster that has become ready. */
export async function measureEngagement(
  testbed: Testbed,
  namespace: string,
  say: (line: string) => void,
): Promise<Measurement[]> {
  const what = 'From a ready Cluster to a controller of multicluster-runtime that is engaged with it';
  const missing = missingPeers('mcr-kubeconfig');
  if (missing) return [{ what, measured: `not measured: ${missing}`, goal: '' }];
  const env = { ...process.env, KUBECONFIG: testbed.world.kubeconfig };
  const args = ['--namespace', namespace];
  const consumer = startPeerProcess({ path: findPeer('mcr-kubeconfig') ?? '', args, env, keptLines });
  try {
    await eventually('it is engaged with the first one', () =>
      hasEngaged(consumer, { namespace: 'bench', name: 'c-0' }),
    );
    const seconds: number[] = [];
    for (let i = 0; i < rounds; i += 1)
      seconds.push(await measureOne(testbed, consumer, { namespace: 'bench', name: `late-${i}` }));
    say(`engaged after ${seconds.map((value) => value.toFixed(1)).join(', ')} s`);
    const measured = `${median(seconds).toFixed(1)} s, median of ${rounds}; 10 s of them are the wait for a stable cluster`;
    return [{ what, measured, goal: '' }];
  } catch (error) {
    process.stderr.write(`${consumer.tail().slice(-4000)}\n`);
    throw error;
  } finally {
    await consumer.stop();
  }
}

async function measureOne({ objects, recorder }: Testbed, consumer: PeerProcess, ref: NamespacedRef): Promise<number> {
  await objects.cluster(ref);
  await eventually('the consumer is engaged', () => hasEngaged(consumer, ref), 120);
  const engagedAt = Date.now();
  const ready = recorder.of(Cluster, ref).find(({ object }) => object.status?.phase === 'Ready');
  return (engagedAt - (ready?.at.getTime() ?? Number.NaN)) / 1000;
}

const hasEngaged = (consumer: PeerProcess, ref: NamespacedRef): boolean =>
  consumer
    .tail()
    .split('\n')
    .some((line) => line.includes('Successfully added cluster') && line.includes(fleetName(ref)));
