import { expect } from 'vitest';
import { clusterSecretsName } from '../../../../src/api/names.ts';
import { AccessRequest, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { readTrustRecord } from '../../../../src/controllers/rollout/oidc-trust/trust-record.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import type { TalosClient } from '../../../../src/talos/client/client.ts';
import { resourceKinds } from '../../../../src/talos/client/resources.ts';
import { eventually as waitFor } from '../../../support/eventually.ts';
import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import { oidcAccess } from '../../support/access/oidc-access.ts';
import { listAccessObjects, withTalosAdminClient } from '../../support/access/workload-cluster.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import { CallNaming, nameApiRequest } from '../call-naming.ts';
import type { FaultSweep } from '../fault-sweep.ts';
import { maskIds } from '../mask-ids.ts';
import type { Scenario } from '../scenario-run.ts';
import type { StateSnapshot } from '../state-snapshot.ts';
import { stableSnapshot } from './stable-snapshot.ts';
import { triggerReconciles } from './trigger-reconciles.ts';
import { watchNodes } from './watch-nodes.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
const requestRef = (name: string): NamespacedRef => ({ namespace: clusterRef.namespace, name });
const patienceSeconds = 120;
const stability = { seconds: 20, pauseMs: 200 };
const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, patienceSeconds);

const issuers = { first: 'https://first.example.org', second: 'https://second.example.org' } as const;
type IssuerName = keyof typeof issuers;

/** A request for trust, or its withdrawal. */
type RolloutPhase = `ask for ${IssuerName}` | `withdraw ${IssuerName}`;

export interface TrustRolloutOptions {
  readonly talosVersion: string;
  readonly controlPlanes: number;
  readonly acts: readonly RolloutPhase[];
}

/**
 * A ready Cluster gets and loses trust in issuers. The snapshot contains the state after each phase. Throws when two of
 * its control planes were away at the same time.
 */
export const trustRolloutScenario = (options: TrustRolloutOptions): Scenario => ({
  naming: () => new RolloutCallNaming(),
  play: async (testbed, sweep, expected) => {
    sweep.isPaused = true;
    await createCluster(testbed, options);
    const watch = watchNodes(testbed);
    const rest = triggerReconciles(testbed);
    const shape: Record<string, unknown> = {};
    try {
      for (const act of options.acts) {
        await runPhase(testbed, sweep, act);
        shape[act] = await stableSnapshot(
          () => snapshotTrust(testbed),
          expected?.[act] as StateSnapshot | undefined,
          stability,
        );
      }
    } finally {
      await rest();
      watch.stop();
    }
    expect(watch.mostAway()).toBe(Math.min(1, options.acts.length));
    return shape;
  },
});

async function createCluster(
  { objects }: Testbed,
  { talosVersion, controlPlanes }: TrustRolloutOptions,
): Promise<void> {
  await objects.credentials();
  await objects.config('home', {
    controlPlanes,
    change: (spec) => {
      spec.talos['version'] = talosVersion;
    },
  });
  await objects.cluster(clusterRef);
  await eventually(
    'the Cluster is ready',
    async () => (await objects.getCluster(clusterRef)).status?.phase === 'Ready',
  );
}

async function runPhase(testbed: Testbed, sweep: FaultSweep, act: RolloutPhase): Promise<void> {
  const { objects } = testbed;
  const name: IssuerName = act.endsWith('first') ? 'first' : 'second';
  sweep.begin(act);
  sweep.isPaused = false;
  try {
    if (act.startsWith('ask')) {
      await objects.request(requestRef(name), {
        clusterRef,
        oidc: { ...oidcAccess(issuers[name]), name, roles: [] },
      });
      await eventually(
        `${name} is granted`,
        async () => (await objects.getRequest(requestRef(name))).status?.phase === 'Granted',
      );
    } else {
      await objects.remove(AccessRequest, requestRef(name));
      await eventually(`${name} is gone`, async () => !(await objects.exists(AccessRequest, requestRef(name))));
    }
    await eventually(
      'the Cluster is at rest',
      async () => (await objects.getCluster(clusterRef)).status?.phase === 'Ready',
    );
  } catch (error) {
    throw new Error(`the roll broke in its act "${act}". ${sweep.story()}${testbed.tail()}`, { cause: error });
  } finally {
    sweep.isPaused = true;
  }
}

async function snapshotTrust(testbed: Testbed): Promise<StateSnapshot> {
  const { platform, objects, namespace, recorder } = testbed;
  const machines = await objects.machines(clusterRef);
  const { items: requests } = await platform.list(AccessRequest);
  const record = readTrustRecord(await platform.get(Secret, { namespace, name: clusterSecretsName(clusterRef) }));
  const secrets = recorder.of(Secret as never).map(({ object }) => `${object.metadata.name} ${object.metadata.uid}`);
  const nodes = machines.map(async ({ status }) => {
    const address = status?.address ?? '';
    return await withTalosAdminClient(testbed, clusterRef, address, nodeTrust);
  });
  const seen = {
    cluster: (await objects.getCluster(clusterRef)).status?.phase,
    requests: requests.map(({ metadata, status }) => [metadata.name, status?.phase, status?.secretRef?.name]),
    'in the cluster': await Promise.all(
      requests.map(({ metadata }) => listAccessObjects(testbed, clusterRef, requestRef(metadata.name))),
    ),
    decided: [record?.revision, record?.complete, record?.leaving, record?.entries.map(({ issuer }) => issuer)],
    'noted on the Machines': new Set(machines.map(({ status }) => status?.trust)).size,
    'made so often': new Set(secrets).size,
    nodes: await Promise.all(nodes),
  };
  return JSON.parse(maskIds(JSON.stringify(seen))) as StateSnapshot;
}

/**
 * The issuers that a node trusts, the number of its updates, and whether its active configuration is the persistent
 * one.
 */
async function nodeTrust(node: TalosClient): Promise<unknown> {
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

/** Names calls by node, request and phase. */
class RolloutCallNaming extends CallNaming {
  override nameOf(call: InterceptedCall, content: unknown): string {
    const { simulator, name } = call;
    const { address = '' } = (call.detail ?? {}) as { address?: string };
    const { type = '', id = '' } = (content ?? {}) as { type?: string; id?: string };
    if (simulator === 'talos')
      return `talos ${this.act}: ${[name, type, id, maskIds(address)].filter(Boolean).join(' ')}`;
    const note = /\/machines\/.*\/status$/.test(name) && String(content).includes('"trust"') ? ' of its trust' : '';
    if (simulator !== 'kube' && simulator !== 'workload') return super.nameOf(call, content);
    // Several requests may be handled in one call, or in one call each.
    return `${simulator} ${this.act}: ${nameApiRequest(call, content).replace(/ in \([a-z0-9,]+\)$/, '')}${note}`;
  }
}

/** Calls that a provider makes at its start, by its heartbeat, or by the clock. */
const isBackgroundCall = (name: string): boolean =>
  / (WATCH|GET \S+\/(v1|v1alpha1)\/[a-z]+( with.*)?$)|\/(leases|events|selfsubject\w+)|status [A-Z]\w+$/.test(name);

/** The calls that belong to a phase of a rollout. */
export const isRolloutCall = (name: string): boolean => /^(kube|workload|talos) /.test(name) && !isBackgroundCall(name);
