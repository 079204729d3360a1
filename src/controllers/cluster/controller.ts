import { type ConditionState, mergeConditions, no, summarize } from '../../api/conditions.ts';
import { Machine } from '../../api/machine.ts';
import { finalizers, openmcp, secretsName } from '../../api/names.ts';
import { Cluster, endpointNames, type NamespacedRef, phases } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import type { Log } from '../../lib/log.ts';
import { addressHolder } from '../address-leases.ts';
import { dropFinalizer, ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { describeTrust, keptTrust } from '../trust/report.ts';
import { act, describeMetadata } from './act.ts';
import { decide, describeStates, lookAgainSeconds } from './decide.ts';
import { type ClusterView, isOurs, look, machinesOf, refOf } from './view.ts';

const progressSeconds = 5;

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A Cluster of ours becomes a real one and stays so; a foreign one causes not a single call. */
export async function reconcileCluster(services: Services, key: ObjectKey, context: Context): Promise<Result> {
  const cluster = services.stores.clusters.get(key);
  if (!cluster || !isOurs(services, cluster)) return {};
  if ((await takeOperation(services.kube, Cluster, cluster, context.signal)) === 'ignore') return {};
  const held = cluster.metadata.finalizers?.includes(finalizers.cluster) ?? false;
  if (!cluster.metadata.deletionTimestamp) {
    const ours = await ensureFinalizer(services.kube, Cluster, cluster, finalizers.cluster, context.signal);
    return ours ? await serve(services, ours, context) : {};
  }
  if (!held) return {};
  const foreign = (cluster.metadata.finalizers ?? []).filter((name) => name !== finalizers.cluster);
  if (foreign.length > 0) return await serve(services, cluster, context, foreign);
  return await release(services, cluster, context);
}

/** Walks decision by decision until nothing more can be done now, then says how it stands. */
async function serve(
  services: Services,
  cluster: Cluster,
  context: Context,
  foreign: readonly string[] = [],
): Promise<Result> {
  let view = look(services, cluster);
  for (let decision = decide(view); decision.kind !== 'settled'; decision = decide(view)) {
    view = await act(services, view, decision, context);
  }
  const states = describeStates(view);
  if (foreign.length > 0)
    states.push(no('ForeignFinalizersGone', 'WaitingForDeletion', `Still needed by ${foreign.join(', ')}.`));
  await publish(services, view, states, context);
  const isHeard = services.nodes.isHeard(view.ref);
  return { againInSeconds: lookAgainSeconds(view, states, { isHeard, now: services.clock.now() }) };
}

async function publish(
  services: Services,
  view: ClusterView,
  states: ConditionState[],
  context: Context,
): Promise<void> {
  const { cluster } = view;
  const generation = cluster.metadata.generation ?? 0;
  const ready = summarize(states);
  const wasReady = cluster.status?.phase === phases.ready;
  const terminating = cluster.metadata.deletionTimestamp !== undefined;
  const version = view.proof?.ok ? view.proof.version : undefined;
  if (version) {
    const metadata = describeMetadata(view, services.provider, version);
    if (metadata) await services.kube.merge(Cluster, refOf(cluster), metadata, {}, context.signal);
  } else if (cluster.metadata.labels?.[openmcp.provider] !== services.provider) {
    await services.kube.merge(
      Cluster,
      refOf(cluster),
      { metadata: { labels: { [openmcp.provider]: services.provider } } },
      {},
      context.signal,
    );
  }
  const phase = terminating ? phases.terminating : ready.status === 'True' ? phases.ready : phases.progressing;
  const status: NonNullable<Cluster['status']> = {
    ...cluster.status,
    ...describeEndpoints(view),
    observedGeneration: generation,
    phase,
    conditions: mergeConditions(cluster.status?.conditions ?? [], [...states, ready], {
      generation,
      now: services.clock.now(),
      ...(terminating ? {} : { drop: ['ForeignFinalizersGone'] as const }),
    }),
    providerStatus: describeProviderStatus(view),
  };
  const written = await writeStatus(services.kube, Cluster, cluster, status, context.signal);
  if (written && phase === phases.ready && !wasReady) {
    services.events.record(cluster, 'Normal', 'Ready', `The cluster answers at ${view.endpoint?.url}.`);
    context.log.info({ endpoint: view.endpoint?.url, version }, 'cluster is ready');
  }
}

/** Published only once the API server has answered; what was published stays while it is being looked for. */
function describeEndpoints(view: ClusterView): Pick<NonNullable<Cluster['status']>, 'endpoints' | 'apiServer'> {
  const url = view.endpoint?.url;
  if (url === undefined || !view.proof?.ok) return {};
  return {
    apiServer: url,
    endpoints: [
      { name: endpointNames.external, url },
      { name: endpointNames.internal, url },
    ],
  };
}

function describeProviderStatus(view: ClusterView): Record<string, unknown> {
  const count = (role: string): number => view.machines.filter((machine) => machine.spec.role === role).length;
  return {
    platform: view.platform,
    providerConfig: view.config?.metadata.name,
    talosVersion: view.machines[0]?.spec.talosVersion ?? view.spec?.talos.version,
    kubernetesVersion: view.secrets?.kubernetesVersion,
    controlPlanes: count('controlplane'),
    workers: count('worker'),
    machines: view.machines.map((machine) => machine.metadata.name),
    ...(view.trust
      ? describeTrust(view.trust, view.secrets?.trust, view.roll, count('controlplane'))
      : keptTrust(view.cluster)),
  };
}

/** Nobody needs it any more: withdraw what was published, take the machines down, forget the secrets, let go. */
async function release(services: Services, cluster: Cluster, context: Context): Promise<Result> {
  const { kube, namespace } = services;
  const ref = refOf(cluster);
  const machines = machinesOf(services, ref);
  const told = await reportRelease(services, cluster, machines, context);
  for (const machine of machines) {
    if (machine.metadata.deletionTimestamp) continue;
    await kube.remove(Machine, { name: machine.metadata.name }, {}, context.signal);
  }
  if (machines.length > 0 || (await isAnyLeft(services, ref, context.signal)))
    return { againInSeconds: progressSeconds };
  await services.nodes.forget(ref);
  await services.targets.forget(ref);
  await services.addresses.release(addressHolder.cluster(ref), context.signal);
  await kube.remove(Secret, { namespace, name: secretsName(ref) }, {}, context.signal);
  await dropFinalizer(kube, Cluster, told, finalizers.cluster, context.signal);
  context.log.info({}, 'cluster is gone');
  return {};
}

/** Asked of the API server: the cache may not know yet what was made a moment ago, or may have lost sight of it. */
async function isAnyLeft(services: Services, ref: NamespacedRef, signal: AbortSignal): Promise<boolean> {
  const { items } = await services.kube.list(Machine, {}, signal);
  const left = items.filter(({ spec }) => spec.providerRef.name === services.provider && isSame(spec.clusterRef, ref));
  for (const { metadata } of left) {
    if (!metadata.deletionTimestamp) await services.kube.remove(Machine, { name: metadata.name }, {}, signal);
  }
  return left.length > 0;
}

const isSame = (a: NamespacedRef, b: NamespacedRef): boolean => a.namespace === b.namespace && a.name === b.name;

/** Returns the Cluster as it is then: under an older version, its finalizer could not be taken off. */
async function reportRelease(
  services: Services,
  cluster: Cluster,
  machines: readonly Machine[],
  context: Context,
): Promise<Cluster> {
  const generation = cluster.metadata.generation ?? 0;
  const waiting = machines.map((machine) => `${machine.metadata.name} (${machine.status?.message ?? 'not begun'})`);
  const state = no(
    'MachinesReady',
    'WaitingForDeletion',
    waiting.length > 0 ? `Taking down ${waiting.join(', ')}.` : 'All machines are gone.',
  );
  const { endpoints: _, apiServer: __, ...rest } = cluster.status ?? { observedGeneration: 0, phase: '' };
  const status: NonNullable<Cluster['status']> = {
    ...rest,
    observedGeneration: generation,
    phase: phases.terminating,
    conditions: mergeConditions(
      cluster.status?.conditions ?? [],
      [
        state,
        { ...state, type: 'Ready' },
        no('EndpointReachable', 'WaitingForDeletion', 'The cluster is being taken down.'),
      ],
      { generation, now: services.clock.now(), drop: ['ForeignFinalizersGone'] },
    ),
  };
  return (await writeStatus(services.kube, Cluster, cluster, status, context.signal)) ?? cluster;
}
