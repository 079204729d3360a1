import { type ClusterIdentity, isSameCluster } from '../../api/cluster-identity.ts';
import { type ConditionState, mergeConditions, no, summarize } from '../../api/conditions.ts';
import { Machine } from '../../api/machine.ts';
import { finalizersOf, isHeldByAnother, openmcp, profileName, secretsName } from '../../api/names.ts';
import { Cluster, endpointNames, phases } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import type { Log } from '../../lib/log.ts';
import { recordKey, recordOf } from '../cluster-record.ts';
import { dropFinalizer, ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { describeTrust, keptTrust } from '../trust/report.ts';
import { act, describeMetadata } from './act.ts';
import { decide, describeStates, lookAgainSeconds } from './decide.ts';
import { isOwnMachine } from './identity.ts';
import { letGoAddress } from './let-go-address.ts';
import { keepMachineMetadata, removeMachine } from './machine-metadata.ts';
import { type ClusterView, foundSecrets, isOurs, judgeFor, look, machinesOf, refOf } from './view.ts';

const progressSeconds = 5;

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A Cluster of ours becomes a real one and stays so; a foreign one causes not a single call. */
export async function reconcileCluster(services: Services, key: ObjectKey, context: Context): Promise<Result> {
  const found = services.stores.clusters.get(key);
  if (!found) return await forget(services, key);
  if (!isOurs(services, found)) return leave(services, found, context);
  const { operation, object: cluster } = await takeOperation(services.kube, Cluster, found, context.signal);
  if (operation === 'ignore') return {};
  const finalizer = finalizersOf(services).cluster;
  const held = cluster.metadata.finalizers?.includes(finalizer) ?? false;
  if (!cluster.metadata.deletionTimestamp) {
    const ours = await ensureFinalizer(services.kube, Cluster, cluster, finalizer, context.signal);
    return ours ? await serve(services, ours, context) : {};
  }
  if (!held) return {};
  const foreign = (cluster.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  if (foreign.length > 0) return await serve(services, cluster, context, foreign);
  return await release(services, cluster, context);
}

/** One that is gone, however it went: nothing is kept open for it. */
async function forget(
  { nodes, targets }: Services,
  { namespace = '', name, uid }: ObjectKey & { readonly uid?: string },
): Promise<Result> {
  const cluster = { namespace, name, ...(uid === undefined ? {} : { uid }) };
  await nodes.forget(cluster);
  await targets.forget(cluster);
  return {};
}

/** Only one that this instance would serve is worth a word: with another namespace than before it has lost all that it served. */
function leave(services: Services, { metadata, spec }: Cluster, { log }: Context): Result {
  const { environment, provider } = services;
  const isNamed = spec.profile.startsWith(profileName(environment, provider, ''));
  if (isNamed && isHeldByAnother(metadata.finalizers, finalizersOf(services).cluster)) {
    const { finalizers } = metadata;
    log.warn({ finalizers }, 'another instance of this provider holds the Cluster, which is left to it');
  }
  return {};
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
  await keepMachineMetadata(services, view, context.signal);
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

/**
 * The address for old readers as soon as it is known; endpoints only once the API server has answered there. What was
 * published stays while it is being looked for.
 */
function describeEndpoints(view: ClusterView): Pick<NonNullable<Cluster['status']>, 'endpoints' | 'apiServer'> {
  const url = view.endpoint?.url;
  if (url === undefined) return {};
  if (!view.proof?.ok) return { apiServer: url };
  return {
    apiServer: url,
    endpoints: [
      { name: endpointNames.external, url },
      { name: endpointNames.internal, url },
    ],
  };
}

/** What was recorded of the cluster stays whatever else is said. Without usable secrets nothing is known better than before. */
function describeProviderStatus(view: ClusterView): Record<string, unknown> {
  const { providerStatus: before = {} } = view.cluster.status ?? {};
  if (view.trouble) return before;
  const recorded = before[recordKey] === undefined ? {} : { [recordKey]: before[recordKey] };
  const count = (role: string): number => view.machines.filter((machine) => machine.spec.role === role).length;
  return {
    platform: view.platform,
    providerConfig: view.config?.metadata.name,
    talosVersion: view.machines[0]?.spec.talosVersion ?? view.spec?.talos.version,
    kubernetesVersion: view.secrets?.kubernetesVersion,
    controlPlanes: count('controlplane'),
    workers: count('worker'),
    machines: view.machines.map((machine) => machine.metadata.name),
    ...(view.secrets ? { [recordKey]: recordOf(view.secrets) } : recorded),
    ...(view.trust
      ? describeTrust(view.trust, view.secrets?.trust, view.roll, count('controlplane'))
      : keptTrust(view.cluster)),
  };
}

/** Nobody needs it any more: withdraw what was published, take the machines down, forget the secrets, let go. */
async function release(services: Services, cluster: Cluster, context: Context): Promise<Result> {
  const { kube } = services;
  const ref = refOf(cluster);
  const machines = machinesOf(services, ref);
  const told = await reportRelease(services, cluster, machines, context);
  for (const machine of machines) await removeMachine(services, machine, context.signal);
  if (machines.length > 0 || (await isAnyLeft(services, ref, context.signal)))
    return { againInSeconds: progressSeconds };
  await forget(services, ref);
  await letGoAddress(services, cluster, context.signal);
  await removeSecrets(services, told, context);
  await dropFinalizer(kube, Cluster, told, finalizersOf(services).cluster, context.signal);
  context.log.info({}, 'cluster is gone');
  return {};
}

/** But for those of another cluster, which somebody put in their place: that may have no others. */
async function removeSecrets(services: Services, cluster: Cluster, { signal, log }: Context): Promise<void> {
  const { kube, namespace } = services;
  const key = { namespace, name: secretsName(refOf(cluster)) };
  const object = await kube.find(Secret, key, signal);
  const { trouble } = foundSecrets(judgeFor(services, { object, cluster, machines: [] }));
  if (trouble?.reason === 'SecretsDiffer' || trouble?.reason === 'NameCollision')
    log.warn({ secret: key.name }, 'a Secret with the secrets of another cluster is left');
  else if (object) await kube.remove(Secret, key, object.metadata.uid ? { uid: object.metadata.uid } : {}, signal);
}

/** Asked of the API server: the cache may not know yet what was made a moment ago, or may have lost sight of it. */
async function isAnyLeft(services: Services, ref: ClusterIdentity, signal: AbortSignal): Promise<boolean> {
  const { items } = await services.kube.list(Machine, {}, signal);
  const left = items.filter(({ spec }) => isOwnMachine(services, spec) && isSameCluster(spec.clusterRef, ref));
  for (const machine of left) await removeMachine(services, machine, signal);
  return left.length > 0;
}

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
