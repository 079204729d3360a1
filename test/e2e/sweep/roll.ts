import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { secretsName } from '../../../src/api/names.ts';
import { AccessRequest, type NamespacedRef } from '../../../src/api/openmcp.ts';
import { readTrust } from '../../../src/controllers/trust/record.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import type { TalosClient } from '../../../src/talos/api.ts';
import { resourceKinds } from '../../../src/talos/resources.ts';
import type { Call } from '../../world/switchboard.ts';
import { eventually as waitFor } from '../support/eventually.ts';
import { oidcAccess } from '../support/logins.ts';
import type { Stage } from '../support/stage.ts';
import { asTalosAdmin, madeFor } from '../support/workload.ts';
import { withoutIds } from './ids.ts';
import { Naming, nameRequest } from './naming.ts';
import { nudge } from './nudge.ts';
import { differencesOf, type Shape } from './shape.ts';
import type { Sweep } from './sweep.ts';
import type { Script } from './trial.ts';

const main = { namespace: 'shop', name: 'main' };
const ref = (name: string): NamespacedRef => ({ namespace: main.namespace, name });
const patienceSeconds = 120;
const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, patienceSeconds);

const issuers = { first: 'https://first.example.org', second: 'https://second.example.org' } as const;
type Name = keyof typeof issuers;

/** A request for trust, or its end. */
type Act = `ask for ${Name}` | `withdraw ${Name}`;

export interface RollOptions {
  readonly talosVersion: string;
  readonly controlPlanes: number;
  readonly acts: readonly Act[];
}

/**
 * A Cluster that is there already comes to trust issuers and to trust them no more. What there is after each act is the shape.
 * Throws when two of its control planes were away at the same time.
 */
export const rollScript = (options: RollOptions): Script => ({
  naming: () => new RollNaming(),
  play: async (stage, sweep, expected) => {
    sweep.isPaused = true;
    await prepare(stage, options);
    const watch = watchControlPlanes(stage);
    const rest = nudge(stage);
    const shape: Record<string, unknown> = {};
    try {
      for (const act of options.acts) {
        await play(stage, sweep, act);
        shape[act] = await restingShape(stage, expected?.[act] as Shape | undefined);
      }
    } finally {
      await rest();
      watch.stop();
    }
    expect(watch.mostAway()).toBe(Math.min(1, options.acts.length));
    return shape;
  },
});

async function prepare({ things }: Stage, { talosVersion, controlPlanes }: RollOptions): Promise<void> {
  await things.credentials();
  await things.config('home', {
    controlPlanes,
    change: (spec) => {
      spec.talos['version'] = talosVersion;
    },
  });
  await things.cluster(main);
  await eventually('the Cluster is ready', async () => (await things.getCluster(main)).status?.phase === 'Ready');
}

async function play(stage: Stage, sweep: Sweep, act: Act): Promise<void> {
  const { things } = stage;
  const name: Name = act.endsWith('first') ? 'first' : 'second';
  sweep.begin(act);
  sweep.isPaused = false;
  try {
    if (act.startsWith('ask')) {
      await things.request(ref(name), { clusterRef: main, oidc: { ...oidcAccess(issuers[name]), name, roles: [] } });
      await eventually(
        `${name} is granted`,
        async () => (await things.getRequest(ref(name))).status?.phase === 'Granted',
      );
    } else {
      await things.remove(AccessRequest, ref(name));
      await eventually(`${name} is gone`, async () => !(await things.exists(AccessRequest, ref(name))));
    }
    await eventually('the Cluster is at rest', async () => (await things.getCluster(main)).status?.phase === 'Ready');
  } catch (error) {
    throw new Error(`the roll broke in its act "${act}". ${sweep.story()}${stage.tail()}`, { cause: error });
  } finally {
    sweep.isPaused = true;
  }
}

/** How many control planes were not ready at the same time, at most. They are looked at much more often than they restart. */
function watchControlPlanes({ world }: Stage) {
  let most = 0;
  const look = (): void => {
    most = Math.max(most, world.machines.nodes().filter(({ ready }) => !ready).length);
  };
  const timer = setInterval(look, 4);
  return { stop: () => clearInterval(timer), mostAway: () => most };
}

async function restingShape(stage: Stage, expected: Shape | undefined): Promise<Shape> {
  const end = performance.now() + 20_000;
  let shape = await shapeOf(stage);
  for (let aim = expected; performance.now() < end; aim = expected ?? shape) {
    if (aim && differencesOf(shape, aim).length === 0) break;
    await delay(200);
    shape = await shapeOf(stage);
  }
  return shape;
}

async function shapeOf(stage: Stage): Promise<Shape> {
  const { platform, things, namespace, recorder } = stage;
  const machines = await things.machines(main);
  const { items: requests } = await platform.list(AccessRequest);
  const record = readTrust(await platform.get(Secret, { namespace, name: secretsName(main) }));
  const secrets = recorder.of(Secret as never).map(({ object }) => `${object.metadata.name} ${object.metadata.uid}`);
  const nodes = machines.map(async ({ status }) => {
    const address = status?.address ?? '';
    return await asTalosAdmin(stage, main, address, trustOf);
  });
  const seen = {
    cluster: (await things.getCluster(main)).status?.phase,
    requests: requests.map(({ metadata, status }) => [metadata.name, status?.phase, status?.secretRef?.name]),
    'in the cluster': await Promise.all(requests.map(({ metadata }) => madeFor(stage, main, ref(metadata.name)))),
    decided: [record?.revision, record?.complete, record?.leaving, record?.entries.map(({ issuer }) => issuer)],
    'noted on the Machines': new Set(machines.map(({ status }) => status?.trust)).size,
    'made so often': new Set(secrets).size,
    nodes: await Promise.all(nodes),
  };
  return JSON.parse(withoutIds(JSON.stringify(seen))) as Shape;
}

/** Whom a node trusts, how often it was told so, and that it keeps the configuration that it runs by. */
async function trustOf(node: TalosClient): Promise<unknown> {
  const find = async (kind: keyof typeof resourceKinds, id: string) => await node.findResource(resourceKinds[kind], id);
  const pod = await find('staticPod', 'kube-apiserver');
  const hasFile = JSON.stringify(pod?.spec).includes('--authentication-config=');
  const file = hasFile ? await find('authentication', 'authentication-config') : undefined;
  const [active, kept] = [await find('machineConfig', 'v1alpha1'), await find('machineConfig', 'persistent')];
  return {
    arguments: JSON.stringify(pod?.spec).match(/--oidc-issuer-url=[^"]*/g),
    documents: JSON.stringify(file?.spec ?? '').match(/https:\/\/[a-z.]*example\.org/g),
    'versions of the Pod': pod?.version,
    'versions of the file': file?.version,
    'runs by what it keeps': active?.spec === kept?.spec,
  };
}

/** Which node is asked for what, and in which act. */
class RollNaming extends Naming {
  override nameOf(call: Call, content: unknown): string {
    const { room, name } = call;
    const { address = '' } = (call.detail ?? {}) as { address?: string };
    const { type = '', id = '' } = (content ?? {}) as { type?: string; id?: string };
    if (room === 'talos')
      return `talos ${this.act}: ${[name, type, id, withoutIds(address)].filter(Boolean).join(' ')}`;
    const note = /\/machines\/.*\/status$/.test(name) && String(content).includes('"trust"') ? ' of its trust' : '';
    if (room !== 'kube' && room !== 'workload') return super.nameOf(call, content);
    // Several requests are looked after in one call, or each in one of its own.
    return `${room} ${this.act}: ${nameRequest(call, content).replace(/ in \([a-z0-9,]+\)$/, '')}${note}`;
  }
}

/** Calls that a provider makes because it begins or lives, or that come by the clock. */
const isOfEveryLife = (name: string): boolean =>
  / (WATCH|GET \S+\/(v1|v1alpha1)\/[a-z]+( with.*)?$)|\/(leases|events|selfsubject\w+)|status [A-Z]\w+$/.test(name);

/** What an act of a roll is made of. */
export const isOfRoll = (name: string): boolean => /^(kube|workload|talos) /.test(name) && !isOfEveryLife(name);
