import { clusterIdentityKey } from '../api/cluster-identity.ts';
import { findFalseCondition } from '../api/conditions.ts';
import { type Host, serverKeyOf } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import { clusterProfileName, labels } from '../api/names.ts';
import { type AccessRequest, type Cluster, openmcpPhases } from '../api/openmcp/types.ts';
import type { ProviderConfig } from '../api/provider-config.ts';
import {
  Controller,
  type ControllerObserver,
  type ControllerOptions,
  createKeySource,
  type KeySource,
} from '../kube/controller/controller.ts';
import type { Secret } from '../kube/core-types.ts';
import type { ObjectChange } from '../kube/reflector/object-store.ts';
import { formatObjectKey, type KubeObject, type ObjectKey, objectKeyOf } from '../kube/resource.ts';
import { reconcileAccessRequest } from './access-request/controller.ts';
import { isRelevantForAccess } from './access-request/is-relevant-for-access.ts';
import type { AccessOptions } from './access-request/view.ts';
import { wireBackup } from './backup/wire-backup.ts';
import { profileKeySource } from './cluster/cluster-responsibility.ts';
import { reconcileCluster } from './cluster/controller.ts';
import { concernsCluster, isStepOfUpdate } from './cluster/machine-changes.ts';
import { clusterIdentityOf } from './cluster/view.ts';
import { createGarbageCollection, garbageKeySource, reconcileGarbage } from './garbage/controller.ts';
import { hostStatusOf, isHostAvailable } from './host/availability.ts';
import { reconcileHost } from './host/controller.ts';
import { reconcileMachine } from './machine/controller.ts';
import { wasConfigAssessed } from './machine/is-config-accepted.ts';
import { MachineMonitor } from './machine/machine-monitor.ts';
import { reconcileProviderConfig } from './provider-config/controller.ts';
import { wirePublish } from './publish/wire-publish.ts';
import { wireRestore } from './restore/wire-restore.ts';
import { rolloutTurnsOf, turnKeySource } from './rollout/policy/rollout-turns.ts';
import { hasChangedForClusters } from './rollout/progress/rollout-key-sources.ts';
import { wireRollout } from './rollout/progress/wire-rollout.ts';
import { fixedEndpointOf } from './shared/addresses/fixed-endpoints.ts';
import type { NodeWatchEvent } from './shared/nodes/node-watches.ts';
import { changedBeyondStatus } from './shared/objects.ts';
import { PlatformChecks } from './shared/platform-checks.ts';
import { clusterNamedBy, hasOtherAuthorities } from './shared/secrets/authority-changes.ts';
import type { Services } from './shared/services.ts';

/** The controllers by their names on the command line. */
export type ControllerName = 'providerconfig' | 'cluster' | 'machine' | 'host' | 'accessrequest';

/**
 * Machines wait most of the time. The limit for low priority leaves workers for urgent requests when a thousand tokens
 * are due at once.
 */
const workersByController: Readonly<
  Record<ControllerName, Pick<ControllerOptions, 'concurrency' | 'lowPriorityConcurrency'>>
> = {
  providerconfig: { concurrency: 16 },
  cluster: { concurrency: 16 },
  machine: { concurrency: 32 },
  host: { concurrency: 16 },
  accessrequest: { concurrency: 22, lowPriorityConcurrency: 2 },
};

type Wiring = Pick<ControllerOptions, 'sources' | 'reconcile' | 'groups'>;

/**
 * Validation of the largest ClusterConfig takes a fraction of a second. The pause limits how often its author can
 * trigger it.
 */
const clusterConfigPauseSeconds = 5;

/** Creates the named controllers, each with its key sources. */
export function makeControllers(
  services: Services,
  options: AccessOptions & { names: readonly ControllerName[]; observer?: ControllerObserver },
): Controller[] {
  const checks = new PlatformChecks(services.clock);
  const wirings: Record<ControllerName, () => Wiring> = {
    providerconfig: () => wireProviderConfig(services, checks),
    cluster: () => wireCluster(services),
    machine: () => wireMachine(services),
    host: () => wireHost(services),
    accessrequest: () => wireAccessRequest(services, options),
  };
  const { clock, log } = services;
  const common = { clock, log, ...(options.observer ? { observer: options.observer } : {}) };
  const controllers = options.names.map(
    (name) => new Controller({ name, ...common, ...workersByController[name], ...wirings[name]() }),
  );
  if (options.names.includes('providerconfig'))
    controllers.push(
      new Controller({ name: 'garbage', ...common, ...wireGarbage(services, checks) }),
      new Controller({ name: 'rollout', ...common, ...wireRollout(services) }),
    );
  if (options.names.includes('cluster'))
    controllers.push(
      new Controller({ name: 'backup', ...common, ...wireBackup(services) }),
      new Controller({ name: 'restore', ...common, ...wireRestore(services) }),
      new Controller({ name: 'publish', ...common, ...wirePublish(services, options) }),
    );
  return controllers;
}

/** It has no name on the command line: it follows the platform checks of the ProviderConfig controller. */
function wireGarbage(services: Services, checks: PlatformChecks): Wiring {
  const collection = createGarbageCollection(services.clock, checks);
  return {
    reconcile: (key, context) => reconcileGarbage(services, collection, key, context),
    sources: [garbageKeySource(collection)],
  };
}

/** The key of the object. Changes of the status alone and resyncs are skipped: the controller requeues by itself. */
const keyUnlessResync = (change: ObjectChange<KubeObject>): ObjectKey[] =>
  change.kind === 'resync' ? [] : keyIfChanged(change);

/** The key of the object, unless only its status has changed. */
const keyIfChanged = (change: ObjectChange<KubeObject>): ObjectKey[] =>
  changedBeyondStatus(change) ? [objectKeyOf(change.object)] : [];

function wireProviderConfig(services: Services, checks: PlatformChecks): Wiring {
  const { stores, environment, provider } = services;
  const everyConfig = (): ObjectKey[] => stores.providerConfigs.list().map(objectKeyOf);
  const byProfile = (profile: string): ObjectKey[] =>
    stores.providerConfigs
      .list()
      .filter((config) => clusterProfileName(environment, provider, config.metadata.name) === profile)
      .map(objectKeyOf);
  const profileOfNewCluster = (change: ObjectChange<Cluster>): ObjectKey[] =>
    change.kind === 'added' || change.kind === 'deleted' ? byProfile(change.object.spec.profile) : [];
  // Only one of the ProviderConfigs with the same endpoint gets it. When that one changes or is deleted, another may
  // get it.
  const configMoved = (change: ObjectChange<ProviderConfig>): ObjectKey[] => {
    if (!changedBeyondStatus(change)) return [];
    const isFixed = (config: ProviderConfig | undefined): boolean =>
      config?.spec !== undefined && fixedEndpointOf(services.platforms, config.spec) !== undefined;
    const concerns = change.kind !== 'resync' && [change.object, change.before].some(isFixed);
    return [
      objectKeyOf(change.object),
      ...(concerns ? stores.providerConfigs.list().filter(isFixed).map(objectKeyOf) : []),
    ];
  };
  const isCredential = (change: ObjectChange<Secret>): boolean =>
    change.kind !== 'resync' && !change.object.metadata.labels?.[labels.cluster];
  return {
    reconcile: (key, context) => reconcileProviderConfig(services, checks, key, context),
    sources: [
      createKeySource(stores.providerConfigs, configMoved),
      createKeySource(stores.profiles, (change) =>
        change.kind === 'added' ? [] : byProfile(change.object.metadata.name),
      ),
      createKeySource(stores.clusters, profileOfNewCluster),
      createKeySource(stores.secrets, (change) => (isCredential(change) ? everyConfig() : [])),
      createKeySource(stores.machines, configOfPlatformProblem),
    ],
  };
}

/**
 * Machines are observed more often than their ProviderConfig. A platform problem that begins or ends on a Machine
 * therefore wakes its ProviderConfig.
 */
function configOfPlatformProblem({ kind, object, before }: ObjectChange<Machine>): ObjectKey[] {
  if (kind !== 'updated') return [];
  const problems = (machine: Machine | undefined): string | undefined => {
    const reason = findFalseCondition(machine?.status?.conditions, 'Healthy')?.reason;
    return reason === 'PlatformUnreachable' || reason === 'PlatformRejected' ? reason : undefined;
  };
  return problems(object) === problems(before) ? [] : [{ name: object.spec.providerConfigRef.name }];
}

function wireCluster(services: Services): Wiring {
  const { stores, environment, provider } = services;
  const ofProfile = (name: string): ObjectKey[] => stores.clusters.by('profile', name).map(objectKeyOf);
  return {
    reconcile: (key, context) =>
      reconcileCluster(services, key, context).finally(() => rolloutTurnsOf(services).passOn(services, key)),
    sources: [
      createKeySource(stores.clusters, keyUnlessResync),
      nodeEventSource(services, (news) => (concernsCluster(stores, news) ? [news.cluster] : [])),
      profileKeySource(stores),
      createKeySource(stores.providerConfigs, (change) =>
        change.kind === 'resync' || !hasChangedForClusters(change)
          ? []
          : ofProfile(clusterProfileName(environment, provider, change.object.metadata.name)),
      ),
      createKeySource(
        stores.clusterConfigs,
        (change) =>
          change.kind === 'resync'
            ? []
            : stores.clusters.by('clusterConfig', formatObjectKey(objectKeyOf(change.object))).map(objectKeyOf),
        { clock: services.clock, seconds: clusterConfigPauseSeconds },
      ),
      // A Cluster waits for the status of its Machines.
      createKeySource(stores.machines, (change) =>
        change.kind === 'resync' || isStepOfUpdate(change) ? [] : [change.object.spec.clusterRef],
      ),
      createKeySource(stores.nodePools, (change) => keyUnlessResync(change).map(() => change.object.spec.clusterRef)),
      createKeySource(stores.secrets, ({ kind, object }) => {
        if (kind === 'resync') return [];
        // A restored Secret is awaited. A Secret that this provider has just created is not relevant.
        return clusterNamedBy(object).filter((key) => kind !== 'added' || lacksSecrets(stores.clusters.get(key)));
      }),
      createKeySource(stores.accessRequests, clusterOfOidcChange),
      turnKeySource(services),
    ],
  };
}

const lacksSecrets = (cluster: Cluster | undefined): boolean =>
  findFalseCondition(cluster?.status?.conditions, 'SecretsReady') !== undefined;

function wireMachine(services: Services): Wiring {
  const { stores } = services;
  const ofConfig = (name: string): ObjectKey[] =>
    stores.machines
      .list()
      .filter((machine) => machine.spec.providerConfigRef.name === name)
      .map(objectKeyOf);
  const ofCluster = (cluster: Cluster): ObjectKey[] =>
    stores.machines.by('cluster', clusterIdentityKey(clusterIdentityOf(cluster))).map(objectKeyOf);
  const monitor = new MachineMonitor(services);
  // Also after the deletion of a Cluster with the annotation that excludes its Machines from reconciling.
  const specChanged = (change: ObjectChange<Cluster>): ObjectKey[] =>
    change.kind === 'deleted' || (change.kind === 'updated' && changedBeyondStatus(change))
      ? ofCluster(change.object)
      : [];
  const machinesOfNode = ({ cluster, node }: NodeWatchEvent): ObjectKey[] =>
    stores.machines
      .by('cluster', clusterIdentityKey(cluster))
      .filter(({ metadata }) => node === undefined || metadata.name === node)
      .map(objectKeyOf);
  return {
    reconcile: (key, context) => reconcileMachine(services, key, { ...context, monitor }),
    // Unresponsive nodes of one Cluster leave workers for the Machines of others.
    groups: { groupOf: (key) => formatObjectKey(stores.machines.get(key)?.spec.clusterRef ?? key) },
    sources: [
      createKeySource(stores.machines, keyUnlessResync),
      createKeySource(stores.clusters, specChanged),
      nodeEventSource(services, machinesOfNode),
      monitor.source,
      // The platform also judges a Machine by its disk key.
      createKeySource(stores.secrets, (change) => {
        const { kind, object } = change;
        const name = object.metadata.labels?.[labels.diskKey];
        if (name !== undefined) return kind === 'resync' ? [] : [{ name }];
        // The Machines of a cluster wait for its Secret when that is restored or corrected, and follow a rotation.
        if (kind !== 'added' && kind !== 'updated') return [];
        const waiting = clusterNamedBy(object).flatMap((key) => stores.clusters.get(key) ?? []);
        return waiting.filter((one) => lacksSecrets(one) || hasOtherAuthorities(change)).flatMap(ofCluster);
      }),
      createKeySource(
        stores.clusterConfigs,
        (change) =>
          change.kind === 'resync'
            ? []
            : stores.clusters.by('clusterConfig', formatObjectKey(objectKeyOf(change.object))).flatMap(ofCluster),
        { clock: services.clock, seconds: clusterConfigPauseSeconds },
      ),
      // A corrected ProviderConfig or Secret resumes its parked Machines.
      createKeySource(stores.providerConfigs, (change) =>
        change.kind === 'updated' && wasConfigAssessed(change) ? ofConfig(change.object.metadata.name) : [],
      ),
      createKeySource(stores.hosts, (change) => machinesToWakeForHost(services, change)),
    ],
  };
}

/** Node changes that the watches of the clusters report. */
const nodeEventSource = (
  { nodes }: Pick<Services, 'nodes'>,
  keys: (news: NodeWatchEvent) => readonly ObjectKey[],
): KeySource => ({
  synced: Promise.resolve(),
  subscribe: (enqueue) =>
    nodes.onChange((news) => {
      for (const key of keys(news)) enqueue(key, 'high');
    }),
});

interface HostWakeStores {
  readonly hosts: Pick<Services['stores']['hosts'], 'by'>;
  readonly machines: Pick<Services['stores']['machines'], 'list'>;
}

/** The Machine that holds a Host that a user has changed. For an available Host, all Machines without one. */
export function machinesToWakeForHost(
  { stores, platforms }: { stores: HostWakeStores; platforms: Services['platforms'] },
  change: ObjectChange<Host>,
): ObjectKey[] {
  const { kind, object, before } = change;
  // A new Host is identified before it becomes available.
  if (kind !== 'updated') return [];
  const { machineRef } = hostStatusOf(object);
  if (machineRef) return changedBeyondStatus(change) ? [{ name: machineRef.name }] : [];
  if (!isHostAvailable(object) || (before && isHostAvailable(before) && !changedBeyondStatus(change))) return [];
  const bare = new Set(platforms.filter(({ hosts }) => hosts).map(({ name }) => name));
  const holdsNone = ({ metadata }: Machine) => stores.hosts.by('machine', metadata.uid ?? '').length === 0;
  return stores.machines
    .list()
    .filter((one) => bare.has(one.spec.platform) && holdsNone(one))
    .map(objectKeyOf);
}

function wireHost(services: Services): Wiring {
  const { stores } = services;
  const ofServer = (host: Host): ObjectKey[] => stores.hosts.by('server', serverKeyOf(host)).map(objectKeyOf);
  const moved = (change: ObjectChange<Host>): ObjectKey[] => {
    if (change.kind === 'deleted' || change.kind === 'added')
      return [objectKeyOf(change.object), ...ofServer(change.object)];
    return changedBeyondStatus(change) || hasStateOrHolderChanged(change) ? [objectKeyOf(change.object)] : [];
  };
  return {
    reconcile: (key, context) => reconcileHost(services, key, context),
    sources: [
      createKeySource(stores.hosts, moved),
      createKeySource(stores.providerConfigs, (change) =>
        change.kind !== 'resync' && changedBeyondStatus(change) ? stores.hosts.list().map(objectKeyOf) : [],
      ),
      // A Machine that was deleted without its finalizer leaves a claimed Host behind.
      createKeySource(stores.machines, ({ kind, object }) =>
        kind === 'deleted' ? stores.hosts.by('machine', object.metadata.uid ?? '').map(objectKeyOf) : [],
      ),
    ],
  };
}

/** Machines also write to the status of a Host. */
function hasStateOrHolderChanged({ object, before }: ObjectChange<Host>): boolean {
  const seen = (host: Host | undefined) => [host?.status?.state, host?.status?.machineRef?.uid].join();
  return seen(object) !== seen(before);
}

function wireAccessRequest(services: Services, options: AccessOptions): Wiring {
  const { stores } = services;
  const ofCluster = (cluster: ObjectKey): ObjectKey[] =>
    stores.accessRequests.by('cluster', formatObjectKey(cluster)).map(objectKeyOf);
  return {
    reconcile: (key, context) => reconcileAccessRequest(services, options, key, context),
    // A cluster that answers slowly delays only its own requests.
    groups: {
      groupOf: (key) => formatObjectKey(stores.accessRequests.get(key)?.spec.clusterRef ?? key),
      limitsSlowGroups: true,
    },
    sources: [
      createKeySource(stores.accessRequests, keyIfPhaseOrSpecChanged),
      // Waiting requests are woken when their cluster becomes ready, changes its endpoint or is deleted.
      createKeySource(stores.clusters, (change) =>
        isRelevantForAccess(change) ? ofCluster(objectKeyOf(change.object)) : [],
      ),
      createKeySource(stores.secrets, (change) =>
        hasOtherAuthorities(change) ? clusterNamedBy(change.object).flatMap(ofCluster) : [],
      ),
      createKeySource(stores.accessSecrets, (change) =>
        change.kind === 'resync' || change.kind === 'added' ? [] : requestOwning(change.object),
      ),
    ],
  };
}

/**
 * The operator assigns a request to a provider by its phase (it sets Pending), so a phase change counts like a change
 * of spec and labels.
 */
function keyIfPhaseOrSpecChanged(change: ObjectChange<AccessRequest>): ObjectKey[] {
  const phase = change.object.status?.phase;
  const phaseMoved = change.before?.status?.phase !== phase;
  const isReported = phaseMoved && (phase === openmcpPhases.pending || phase === openmcpPhases.denied);
  return isReported || changedBeyondStatus(change) ? [objectKeyOf(change.object)] : [];
}

/** The Cluster that must decide its trust again. */
function clusterOfOidcChange(change: ObjectChange<AccessRequest>): ObjectKey[] {
  const { object, before, kind } = change;
  const { clusterRef, oidc } = object.spec;
  if (!clusterRef || kind === 'resync' || !(oidc || before?.spec.oidc)) return [];
  return keyIfPhaseOrSpecChanged(change).map(() => clusterRef);
}

/** The request that owns a Secret: it restores a Secret that was deleted or changed. */
function requestOwning(secret: Secret): ObjectKey[] {
  const owner = secret.metadata.ownerReferences?.find((reference) => reference.kind === 'AccessRequest');
  return owner ? [{ namespace: secret.metadata.namespace, name: owner.name }] : [];
}
