import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { isTrue } from '../../../src/api/conditions.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { eventually as waitFor } from '../support/eventually.ts';
import type { Stage } from '../support/stage.ts';
import { providerCalls, traces } from '../support/traces.ts';
import { ConfigMap, grantedKubeconfig, madeFor, withAccess } from '../support/workload.ts';
import { nudge } from './nudge.ts';
import { differencesOf, type Shape, shapeOf } from './shape.ts';
import type { Sweep } from './sweep.ts';

const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const secret = { namespace: main.namespace, name: 'main.kubeconfig' };
const day = 24 * 3600;
/** For one part of a life, in which every call may take its time. */
const patienceSeconds = 300;
const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, patienceSeconds);

/** Each part of a life, in order; done when it resolves. What a part has to leave behind it expects itself. */
const acts: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  async offer({ things }) {
    await things.credentials();
    await things.config('home', { controlPlanes: 1 });
    await eventually(
      'the ProviderConfig is ready',
      async () => (await things.getConfig('home')).status?.phase === 'Ready',
    );
  },
  async create({ things }) {
    await things.cluster(main);
    await eventually('the Cluster is ready', async () => (await things.getCluster(main)).status?.phase === 'Ready');
  },
  async grant(stage) {
    const token = { permissions: [{ rules }, { namespace: 'inside', rules }] };
    await stage.things.request(main, { clusterRef: main, token });
    await isGranted(stage);
  },
  async renew(stage) {
    const before = await grantedKubeconfig(stage, main);
    await age(stage);
    await eventually('the token is renewed', async () => (await grantedKubeconfig(stage, main)) !== before);
    await isGranted(stage);
  },
  async change(stage) {
    const token = { permissions: [{ namespace: 'inside', rules }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] };
    await stage.platform.merge(AccessRequest, main, { spec: { token } });
    await isGranted(stage);
  },
  async grow({ things, platform }) {
    const workerPools = [{ name: 'work', replicas: 1, size: 'small' }];
    const kubernetes = { versions: [{ version: '1.35.4' }] };
    await platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools, kubernetes } });
    await eventually('the worker is there', async () => {
      const machines = await things.machines(main);
      const { status } = await things.getCluster(main);
      const isWhole = machines.length === 2 && machines.every((machine) => isTrue(machine.status?.conditions, 'Ready'));
      return isWhole && status?.phase === 'Ready' && status.providerStatus?.['workers'] === 1;
    });
  },
  async rest({ calls }) {
    const isRenewal = /^PUT .*\/leases\/cluster-provider-talos-/;
    await eventually('the Lease is held on to', () => providerCalls(calls).some(({ name }) => isRenewal.test(name)));
  },
};

const end: typeof acts = {
  async withdraw(stage) {
    await stage.things.remove(AccessRequest, main);
    await eventually('the request is gone', async () => !(await stage.things.exists(AccessRequest, main)));
    expect(await madeFor(stage, main, main)).toEqual([]);
  },
  async delete({ things }) {
    await things.remove(Cluster, main);
    await eventually('the Cluster is gone', async () => !(await things.exists(Cluster, main)));
  },
  async retract(stage) {
    await stage.things.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await traces(stage)).toEqual([]);
      return true;
    });
  },
};

/**
 * The life of a Cluster from an offer to nothing: made, access granted, renewed and changed, a worker added, everything
 * taken down. Returns what there was at its height, when it is as `expected` or does not become so any more. Whatever goes
 * wrong is told with the calls that were struck before.
 */
export async function live(stage: Stage, sweep: Sweep, expected?: Shape): Promise<Shape> {
  const play = async (act: string, work: () => Promise<unknown>): Promise<void> => {
    sweep.begin(act);
    try {
      await work();
    } catch (error) {
      throw new Error(`the life broke in its act "${act}". ${sweep.story()}${stage.tail()}`, { cause: error });
    }
  };
  const run = async (parts: typeof acts): Promise<void> => {
    const rest = nudge(stage);
    try {
      for (const [act, work] of Object.entries(parts)) await play(act, () => work(stage));
    } finally {
      await rest();
    }
  };
  await run(acts);
  let height: Shape = {};
  await play('height', async () => {
    sweep.isPaused = true;
    await withAccess(stage, main, (holder) => holder.list(ConfigMap, { namespace: 'inside' }));
    height = await restingShape(stage, expected);
    sweep.isPaused = false;
  });
  await run(end);
  return height;
}

/** What there is when nothing is under way: as expected, or, where nothing is, the same twice. */
async function restingShape(stage: Stage, expected: Shape | undefined): Promise<Shape> {
  const end = performance.now() + 20_000;
  let shape = await shapeOf(stage, main);
  for (let aim = expected; performance.now() < end; aim = expected ?? shape) {
    if (aim && differencesOf(shape, aim).length === 0) break;
    await delay(300);
    shape = await shapeOf(stage, main);
  }
  return shape;
}

async function isGranted({ things }: Stage): Promise<void> {
  await eventually('access is granted', async () => {
    const { metadata, status } = await things.getRequest(main);
    return status?.phase === 'Granted' && status.observedGeneration === metadata.generation;
  });
}

/** The token was made so long ago that a new one is due. */
async function age({ platform }: Stage): Promise<void> {
  const encode = (days: number): string =>
    Buffer.from(String(Math.floor(Date.now() / 1000) + days * day)).toString('base64');
  await platform.merge(Secret, secret, { data: { creationTimestamp: encode(-25), expirationTimestamp: encode(5) } });
}
