import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ClusterConfig } from '../../src/api/cluster-config.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp/types.ts';
import { patchLimits } from '../../src/api/schema/patch-limits.ts';
import { apiVersionOf } from '../../src/kube/resource.ts';
import type { RecordedVersion } from '../e2e/support/observation/object-recorder.ts';
import { Testbed } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';
import { inParallel } from './access-requests/requests.ts';
import { type Benchmark, formatMs, median, ratioMeasurement } from './measurement.ts';

const count = 20;
const schedule = 3;
/** How often the worst neighbour updates its objects. */
const busyIntervalMs = 100;

const tenantClusters = Array.from(
  { length: count },
  (_, i): NamespacedRef => ({ namespace: `team-${i}`, name: 'ours' }),
);
const silentCluster = { namespace: 'worst', name: 'silent' };
const busyCluster = { namespace: 'worst', name: 'restless' };

interface PhaseTimes {
  /** Milliseconds from creation to Ready, of Clusters. */
  readonly clusters: readonly number[];
  /** Milliseconds from creation to Granted, of AccessRequests. */
  readonly requests: readonly number[];
}

/** Accepts connections and never responds: the worst unresponsive API server. */
async function startSilentServer(): Promise<{ readonly port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The maximum number of values and characters in one patch. */
function largestPatch(turn: number): Record<string, unknown> {
  const keys = Math.floor(patchLimits.values / 2);
  const text = 'x'.repeat(Math.floor(patchLimits.characters / keys) - 24);
  const labels = Array.from({ length: keys - 8 }, (_, i) => [
    `worst.example.com/n${i}`,
    `${text}${turn % 10}`.slice(0, 63),
  ]);
  return { machine: { nodeLabels: Object.fromEntries(labels) } };
}

/**
 * One object of each kind in its worst form, until it is stopped: unresponsive, large, rejected, and updated all the
 * time.
 */
async function startNoisyNeighbour(testbed: Testbed): Promise<() => Promise<void>> {
  const { objects, platform } = testbed;
  const noResponse = await startSilentServer();
  await objects.config('silent', {
    pool: [60, 69],
    change: ({ controlPlane }) => Object.assign(controlPlane, { endpoint: `127.0.0.1:${noResponse.port}` }),
  });
  await objects.config('restless', { pool: [70, 79] });
  await objects.cluster(silentCluster, { config: 'silent' });
  await platform.create(ClusterConfig, {
    apiVersion: apiVersionOf(ClusterConfig),
    kind: 'ClusterConfig',
    metadata: busyCluster,
    spec: { patches: [largestPatch(0)] },
  } as never);
  const clusterConfigs = [{ name: busyCluster.name }];
  await objects.cluster(busyCluster, { config: 'restless', clusterConfigs });
  // The target rejects it: RBAC does not allow a user to grant rights that the user does not have.
  const rules = Array.from({ length: 64 }, (_, i) => ({ apiGroups: ['*'], resources: [`r${i}`], verbs: ['bad verb'] }));
  await objects.request(busyCluster, { clusterRef: busyCluster, token: { permissions: [{ rules }] } });
  let isOver = false;
  const writing = (async () => {
    for (let turn = 1; !isOver; turn += 1) {
      const note = { metadata: { annotations: { turn: String(turn) } } };
      const changes = [
        platform.merge(ClusterConfig, busyCluster, { spec: { patches: [largestPatch(turn)] } }),
        platform.merge(Cluster, silentCluster, note),
        platform.merge(Cluster, busyCluster, note),
        platform.merge(AccessRequest, busyCluster, note),
      ];
      await Promise.all(changes);
      await pause(busyIntervalMs);
    }
  })();
  return async () => {
    isOver = true;
    await writing;
    noResponse.close();
  };
}

/** Milliseconds from the creation of each object until it was first observed in that phase. */
async function measureTimesToPhase(
  testbed: Testbed,
  kind: string,
  phase: string,
  make: () => Promise<void>,
): Promise<number[]> {
  const { sightings } = testbed.recorder;
  let read = sightings.length;
  const startedAt = Date.now();
  const took = new Map<string, number>();
  await make();
  const areThere = (): boolean => {
    for (const { at, kind: seen, object } of sightings.slice(read) as RecordedVersion<Cluster>[]) {
      const { namespace = '' } = object.metadata;
      const isOne = seen === kind && namespace.startsWith('team-') && object.status?.phase === phase;
      if (isOne && !took.has(namespace)) took.set(namespace, at.getTime() - startedAt);
    }
    read = sightings.length;
    return took.size === count;
  };
  await eventually(`all ${kind}s are ${phase}`, areThere, 300);
  return [...took.values()];
}

async function measureRound(hasWorst: boolean): Promise<PhaseTimes> {
  const testbed = await Testbed.open({
    subnet: '127.42.207',
    provider: { asProgram: { speed: 1, verbosity: 'info' } },
  });
  let end = async (): Promise<void> => {};
  try {
    testbed.provider.start();
    await testbed.objects.credentials();
    await testbed.objects.config('home', { pool: [10, 59] });
    if (hasWorst) {
      end = await startNoisyNeighbour(testbed);
      await eventually(
        'the worst is at its worst',
        async () => {
          const { status } = await testbed.objects.getCluster(silentCluster);
          return JSON.stringify(status ?? {}).includes('does not answer');
        },
        120,
      );
    }
    const clusters = await measureTimesToPhase(testbed, 'Cluster', 'Ready', () =>
      inParallel(count, async (i) => void (await testbed.objects.cluster(tenantClusters[i] as NamespacedRef))),
    );
    const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] }] };
    const requests = await measureTimesToPhase(testbed, 'AccessRequest', 'Granted', () =>
      inParallel(count, async (i) => {
        const ref = tenantClusters[i] as NamespacedRef;
        await testbed.objects.request(ref, { clusterRef: ref, token });
      }),
    );
    return { clusters, requests };
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await end();
    await testbed.close();
  }
}

/** Twenty tenants next to one whose Cluster, ClusterConfig and AccessRequest are the worst possible. */
export const noisyNeighbourBenchmark: Benchmark = {
  name: 'Neighbours',
  async measure(say) {
    const taken: { readonly alone: PhaseTimes; readonly beside: PhaseTimes }[] = [];
    while (taken.length < schedule) {
      const [alone, beside] = [await measureRound(false), await measureRound(true)];
      taken.push({ alone, beside });
      say(
        `${formatMs(median(alone.clusters))} → ${formatMs(median(beside.clusters))}, ${formatMs(median(alone.requests))} → ${formatMs(median(beside.requests))}`,
      );
    }
    const figure = (what: string, of: keyof PhaseTimes, measure: (times: readonly number[]) => number) => {
      const alone = median(taken.map((round) => measure(round.alone[of])));
      const beside = median(taken.map((round) => measure(round.beside[of])));
      return ratioMeasurement(
        what,
        beside,
        alone,
        1.5,
        `${formatMs(beside)} ÷ ${formatMs(alone)}, medians of ${schedule} rounds`,
      );
    };
    const last = (times: readonly number[]): number => Math.max(...times);
    const beside = 'beside the worst neighbour ÷ without it';
    return [
      figure(`${count} Clusters from created to ready, the middle one, ${beside}`, 'clusters', median),
      figure(`${count} Clusters from created to ready, the last one, ${beside}`, 'clusters', last),
      figure(`${count} AccessRequests from created to granted, the middle one, ${beside}`, 'requests', median),
      figure(`${count} AccessRequests from created to granted, the last one, ${beside}`, 'requests', last),
    ];
  },
};
