import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ClusterConfig } from '../../src/api/cluster-config.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp.ts';
import { patchLimits } from '../../src/api/patch-limits.ts';
import { apiVersionOf } from '../../src/kube/resource.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { Sighting } from '../e2e/support/recorder.ts';
import { Stage } from '../e2e/support/stage.ts';
import { type Bench, median, ms, ratio } from './figure.ts';
import { inParallel } from './granting.ts';

const count = 20;
const rounds = 3;
/** How often the worst neighbour writes its objects anew. */
const restlessMs = 100;

const ordinary = Array.from({ length: count }, (_, i): NamespacedRef => ({ namespace: `team-${i}`, name: 'ours' }));
const worst = { namespace: 'worst', name: 'silent' };
const restless = { namespace: 'worst', name: 'restless' };

interface Times {
  /** Milliseconds from creation to Ready, of Clusters. */
  readonly clusters: readonly number[];
  /** Milliseconds from creation to Granted, of AccessRequests. */
  readonly requests: readonly number[];
}

/** Takes connections and never says a word: an API server at its most silent. */
async function startSilence(): Promise<{ readonly port: number; close(): void }> {
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

/** As many values in as many characters as one patch may have. */
function largestPatch(turn: number): Record<string, unknown> {
  const keys = Math.floor(patchLimits.values / 2);
  const text = 'x'.repeat(Math.floor(patchLimits.characters / keys) - 24);
  const labels = Array.from({ length: keys - 8 }, (_, i) => [
    `worst.example.com/n${i}`,
    `${text}${turn % 10}`.slice(0, 63),
  ]);
  return { machine: { nodeLabels: Object.fromEntries(labels) } };
}

/** One of each kind at its worst, until it is told to end: silent, large, refused, and written anew all the time. */
async function startWorst(stage: Stage): Promise<() => Promise<void>> {
  const { things, platform } = stage;
  const silence = await startSilence();
  await things.config('silent', {
    pool: [60, 69],
    change: ({ controlPlane }) => Object.assign(controlPlane, { endpoint: `https://127.0.0.1:${silence.port}` }),
  });
  await things.config('restless', { pool: [70, 79] });
  await things.cluster(worst, { config: 'silent' });
  await platform.create(ClusterConfig, {
    apiVersion: apiVersionOf(ClusterConfig),
    kind: 'ClusterConfig',
    metadata: restless,
    spec: { patches: [largestPatch(0)] },
  } as never);
  const clusterConfigs = [{ name: restless.name }];
  await things.cluster(restless, { config: 'restless', clusterConfigs });
  // The target refuses it: what a role grants nobody may grant who does not have it.
  const rules = Array.from({ length: 64 }, (_, i) => ({ apiGroups: ['*'], resources: [`r${i}`], verbs: ['bad verb'] }));
  await things.request(restless, { clusterRef: restless, token: { permissions: [{ rules }] } });
  let isOver = false;
  const writing = (async () => {
    for (let turn = 1; !isOver; turn += 1) {
      const note = { metadata: { annotations: { turn: String(turn) } } };
      const changes = [
        platform.merge(ClusterConfig, restless, { spec: { patches: [largestPatch(turn)] } }),
        platform.merge(Cluster, worst, note),
        platform.merge(Cluster, restless, note),
        platform.merge(AccessRequest, restless, note),
      ];
      await Promise.all(changes);
      await pause(restlessMs);
    }
  })();
  return async () => {
    isOver = true;
    await writing;
    silence.close();
  };
}

/** Milliseconds since creation at which each object was first seen in that phase. */
async function timesTo(stage: Stage, kind: string, phase: string, make: () => Promise<void>): Promise<number[]> {
  const { sightings } = stage.recorder;
  let read = sightings.length;
  const startedAt = Date.now();
  const took = new Map<string, number>();
  await make();
  const areThere = (): boolean => {
    for (const { at, kind: seen, object } of sightings.slice(read) as Sighting<Cluster>[]) {
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

async function measureRound(hasWorst: boolean): Promise<Times> {
  const stage = await Stage.open({
    subnet: '127.42.206',
    provider: { asProgram: { speed: 1, verbosity: 'info' } },
  });
  let end = async (): Promise<void> => {};
  try {
    stage.provider.start();
    await stage.things.credentials();
    await stage.things.config('home', { pool: [10, 59] });
    if (hasWorst) {
      end = await startWorst(stage);
      await eventually(
        'the worst is at its worst',
        async () => {
          const { status } = await stage.things.getCluster(worst);
          return JSON.stringify(status ?? {}).includes('does not answer');
        },
        120,
      );
    }
    const clusters = await timesTo(stage, 'Cluster', 'Ready', () =>
      inParallel(count, async (i) => void (await stage.things.cluster(ordinary[i] as NamespacedRef))),
    );
    const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] }] };
    const requests = await timesTo(stage, 'AccessRequest', 'Granted', () =>
      inParallel(count, async (i) => {
        const ref = ordinary[i] as NamespacedRef;
        await stage.things.request(ref, { clusterRef: ref, token });
      }),
    );
    return { clusters, requests };
  } catch (error) {
    process.stderr.write(stage.tail());
    throw error;
  } finally {
    await end();
    await stage.close();
  }
}

/** Twenty tenants beside one whose Cluster, ClusterConfig and AccessRequest are the worst that one can write. */
export const neighbours: Bench = {
  name: 'Neighbours',
  async measure(say) {
    const taken: { readonly alone: Times; readonly beside: Times }[] = [];
    while (taken.length < rounds) {
      const [alone, beside] = [await measureRound(false), await measureRound(true)];
      taken.push({ alone, beside });
      say(
        `${ms(median(alone.clusters))} → ${ms(median(beside.clusters))}, ${ms(median(alone.requests))} → ${ms(median(beside.requests))}`,
      );
    }
    const figure = (what: string, of: keyof Times, measure: (times: readonly number[]) => number) => {
      const alone = median(taken.map((round) => measure(round.alone[of])));
      const beside = median(taken.map((round) => measure(round.beside[of])));
      return ratio(what, beside, alone, 1.5, `${ms(beside)} ÷ ${ms(alone)}, medians of ${rounds} rounds`);
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
