import { identityText } from '../api/cluster-identity.ts';
import { findFalse, isTrue } from '../api/conditions.ts';
import type { Host } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import { annotations, labels, openmcp, profileName } from '../api/names.ts';
import { type AccessRequest, type Cluster, phases } from '../api/openmcp.ts';
import type { ProviderConfig } from '../api/provider-config.ts';
import {
  Controller,
  type ControllerObserver,
  type ControllerOptions,
  type Source,
  source,
} from '../kube/controller.ts';
import type { Secret } from '../kube/core-types.ts';
import { type KubeObject, keyOf, keyText, type ObjectKey } from '../kube/resource.ts';
import type { Change } from '../kube/store.ts';
import { type AccessOptions, reconcileAccessRequest } from './access-request/controller.ts';
import { reconcileCluster } from './cluster/controller.ts';
import { refOf } from './cluster/view.ts';
import { fixedEndpoint } from './fixed-endpoints.ts';
import { reconcileHost } from './host/controller.ts';
import { isFree, statusOf } from './host/standing.ts';
import { reconcileMachine } from './machine/controller.ts';
import { Vigil } from './machine/vigil.ts';
import type { NodeNews } from './nodes/node-watches.ts';
import { changedBeyondStatus } from './objects.ts';
import { Rounds } from './orphans/rounds.ts';
import { reconcileProviderConfig } from './provider-config/controller.ts';
import type { Services } from './services.ts';

/** The controllers by the names they have on the command line. */
export type ControllerName = 'providerconfig' | 'cluster' | 'machine' | 'host' | 'accessrequest';

/** Machines wait for others most of the time. A thousand tokens that are due at once leave room for who waits for one. */
const workers: Readonly<Record<ControllerName, Pick<ControllerOptions, 'concurrency' | 'patientConcurrency'>>> = {
  providerconfig: { concurrency: 16 },
  cluster: { concurrency: 16 },
  machine: { concurrency: 32 },
  host: { concurrency: 16 },
  accessrequest: { concurrency: 22, patientConcurrency: 2 },
};

type Wiring = Pick<ControllerOptions, 'sources' | 'reconcile' | 'groups'>;

/** To judge the largest ClusterConfig takes a part of a second: its author may have that done no more often than so. */
const configRestSeconds = 5;

/** The controllers that were asked for, each with the changes that wake it. */
export function makeControllers(
  services: Services,
  options: AccessOptions & { names: readonly ControllerName[]; observer?: ControllerObserver },
): Controller[] {
  const wirings: Record<ControllerName, () => Wiring> = {
    providerconfig: () => wireProviderConfig(services),
    cluster: () => wireCluster(services),
    machine: () => wireMachine(services),
    host: () => wireHost(services),
    accessrequest: () => wireAccessRequest(services, options),
  };
  const common = {
    clock: services.clock,
    log: services.log,
    ...(options.observer ? { observer: options.observer } : {}),
  };
  return options.names.map((name) => new Controller({ name, ...common, ...workers[name], ...wirings[name]() }));
}

/** The object itself, unless only its status moved, or nothing but time has passed: its controller sees to that itself. */
const unresting = (change: Change<KubeObject>): ObjectKey[] => (change.kind === 'resync' ? [] : itself(change));

/** The object itself, unless only its status moved. */
const itself = (change: Change<KubeObject>): ObjectKey[] => (changedBeyondStatus(change) ? [keyOf(change.object)] : []);

function wireProviderConfig(services: Services): Wiring {
  const { stores, environment, provider } = services;
  const everyConfig = (): ObjectKey[] => stores.providerConfigs.list().map(keyOf);
  const byProfile = (profile: string): ObjectKey[] =>
    stores.providerConfigs
      .list()
      .filter((config) => profileName(environment, provider, config.metadata.name) === profile)
      .map(keyOf);
  const clusterCame = (change: Change<Cluster>): ObjectKey[] =>
    change.kind === 'added' || change.kind === 'deleted' ? byProfile(change.object.spec.profile) : [];
  // Of those with the same endpoint one has it: when it goes or changes, another may.
  const configMoved = (change: Change<ProviderConfig>): ObjectKey[] => {
    if (!changedBeyondStatus(change)) return [];
    const isFixed = (config: ProviderConfig | undefined): boolean =>
      config?.spec !== undefined && fixedEndpoint(services.platforms, config.spec) !== undefined;
    const concerns = change.kind !== 'resync' && [change.object, change.before].some(isFixed);
    return [keyOf(change.object), ...(concerns ? stores.providerConfigs.list().filter(isFixed).map(keyOf) : [])];
  };
  const isCredential = (change: Change<Secret>): boolean =>
    change.kind !== 'resync' && !change.object.metadata.labels?.[labels.cluster];
  const rounds = new Rounds(services.clock);
  return {
    reconcile: (key, context) => reconcileProviderConfig(services, rounds, key, context),
    sources: [
      source(stores.providerConfigs, configMoved),
      source(stores.profiles, (change) => (change.kind === 'added' ? [] : byProfile(change.object.metadata.name))),
      source(stores.clusters, clusterCame),
      source(stores.secrets, (change) => (isCredential(change) ? everyConfig() : [])),
      source(stores.machines, configOfTrouble),
    ],
  };
}

/** Machines are looked at more often than their ProviderConfig: what they see of the platform begins or ends there, too. */
function configOfTrouble({ kind, object, before }: Change<Machine>): ObjectKey[] {
  if (kind !== 'updated') return [];
  const troubles = (machine: Machine | undefined): string | undefined => {
    const reason = findFalse(machine?.status?.conditions, 'Healthy')?.reason;
    return reason === 'PlatformUnreachable' || reason === 'PlatformRefused' ? reason : undefined;
  };
  return troubles(object) === troubles(before) ? [] : [{ name: object.spec.providerConfigRef.name }];
}

function wireCluster(services: Services): Wiring {
  const { stores, environment, provider } = services;
  const ofProfile = (name: string): ObjectKey[] => stores.clusters.by('profile', name).map(keyOf);
  return {
    reconcile: (key, context) => reconcileCluster(services, key, context),
    sources: [
      source(stores.clusters, unresting),
      newsOf(services, ({ cluster, node }) => (node === undefined ? [cluster] : [])),
      source(stores.profiles, (change) => (change.kind === 'resync' ? [] : ofProfile(change.object.metadata.name))),
      source(stores.providerConfigs, (change) =>
        change.kind === 'resync' ? [] : ofProfile(profileName(environment, provider, change.object.metadata.name)),
      ),
      source(
        stores.clusterConfigs,
        (change) =>
          change.kind === 'resync' ? [] : stores.clusters.by('clusterConfig', keyText(keyOf(change.object))).map(keyOf),
        { clock: services.clock, seconds: configRestSeconds },
      ),
      // Their status is what a Cluster waits for.
      source(stores.machines, (change) => (change.kind === 'resync' ? [] : [change.object.spec.clusterRef])),
      source(stores.secrets, ({ kind, object }) => {
        if (kind === 'resync') return [];
        // One that comes back is waited for; one that we made ourselves is no news.
        return clusterNamedBy(object).filter((key) => kind !== 'added' || lacksSecrets(stores.clusters.get(key)));
      }),
      source(stores.accessRequests, asksForTrust),
    ],
  };
}

const lacksSecrets = (cluster: Cluster | undefined): boolean =>
  findFalse(cluster?.status?.conditions, 'SecretsReady') !== undefined;

/** The Cluster that an object of ours says it belongs to. */
function clusterNamedBy({ metadata }: KubeObject): ObjectKey[] {
  const namespace = metadata.annotations?.[annotations.clusterNamespace];
  const name = metadata.annotations?.[annotations.clusterName];
  return namespace && name ? [{ namespace, name }] : [];
}

function wireMachine(services: Services): Wiring {
  const { stores } = services;
  const ofConfig = (name: string): ObjectKey[] =>
    stores.machines
      .list()
      .filter((machine) => machine.spec.providerConfigRef.name === name)
      .map(keyOf);
  const ofCluster = (cluster: Cluster): ObjectKey[] =>
    stores.machines.by('cluster', identityText(refOf(cluster))).map(keyOf);
  const vigil = new Vigil(services);
  // Also when one is gone that its Machines were to be left alone for.
  const wishMoved = (change: Change<Cluster>): ObjectKey[] =>
    change.kind === 'deleted' || (change.kind === 'updated' && changedBeyondStatus(change))
      ? ofCluster(change.object)
      : [];
  const heardOf = ({ cluster, node }: NodeNews): ObjectKey[] =>
    stores.machines
      .by('cluster', identityText(cluster))
      .filter(({ metadata }) => node === undefined || metadata.name === node)
      .map(keyOf);
  return {
    reconcile: (key, context) => reconcileMachine(services, key, { ...context, vigil }),
    // One Cluster's nodes that do not answer leave workers to those of others.
    groups: { groupOf: (key) => keyText(stores.machines.get(key)?.spec.clusterRef ?? key) },
    sources: [
      source(stores.machines, unresting),
      source(stores.clusters, wishMoved),
      newsOf(services, heardOf),
      vigil.source,
      // Its platform judges a machine by the key of its disks, too.
      source(stores.secrets, ({ kind, object }) => {
        const name = object.metadata.labels?.[labels.diskKey];
        if (name !== undefined) return kind === 'resync' ? [] : [{ name }];
        // The secrets of a cluster that come back, or are put right: its machines wait for them.
        if (kind !== 'added' && kind !== 'updated') return [];
        const waiting = clusterNamedBy(object).flatMap((key) => stores.clusters.get(key) ?? []);
        return waiting.filter(lacksSecrets).flatMap(ofCluster);
      }),
      source(
        stores.clusterConfigs,
        (change) =>
          change.kind === 'resync'
            ? []
            : stores.clusters.by('clusterConfig', keyText(keyOf(change.object))).flatMap(ofCluster),
        { clock: services.clock, seconds: configRestSeconds },
      ),
      // A corrected ProviderConfig or Secret gets parked machines going again.
      source(stores.providerConfigs, (change) =>
        change.kind === 'updated' && changedBeyondStatus(change) ? ofConfig(change.object.metadata.name) : [],
      ),
      source(stores.hosts, (change) => machinesFor(services, change)),
    ],
  };
}

/** What clusters tell of themselves. */
const newsOf = ({ nodes }: Pick<Services, 'nodes'>, keys: (news: NodeNews) => readonly ObjectKey[]): Source => ({
  synced: Promise.resolve(),
  subscribe: (enqueue) =>
    nodes.onNews((news) => {
      for (const key of keys(news)) enqueue(key, 'prompt');
    }),
});

interface WokenFrom {
  readonly hosts: Pick<Services['stores']['hosts'], 'by'>;
  readonly machines: Pick<Services['stores']['machines'], 'list'>;
}

/** The Machine that holds a Host which people changed; or those that hold none, when it may be had. */
export function machinesFor(
  { stores, platforms }: { stores: WokenFrom; platforms: Services['platforms'] },
  change: Change<Host>,
): ObjectKey[] {
  const { kind, object, before } = change;
  // A new one is looked at before it may be had.
  if (kind !== 'updated') return [];
  const { machineRef } = statusOf(object);
  if (machineRef) return changedBeyondStatus(change) ? [{ name: machineRef.name }] : [];
  if (!isFree(object) || (before && isFree(before) && !changedBeyondStatus(change))) return [];
  const bare = new Set(platforms.filter(({ inventory }) => inventory).map(({ name }) => name));
  const holdsNone = ({ metadata }: Machine) => stores.hosts.by('machine', metadata.uid ?? '').length === 0;
  return stores.machines
    .list()
    .filter((one) => bare.has(one.spec.platform) && holdsNone(one))
    .map(keyOf);
}

function wireHost(services: Services): Wiring {
  const { stores } = services;
  const ofServer = ({ spec }: Host): ObjectKey[] => stores.hosts.by('server', String(spec.serverNumber)).map(keyOf);
  const moved = (change: Change<Host>): ObjectKey[] => {
    if (change.kind === 'deleted' || change.kind === 'added') return [keyOf(change.object), ...ofServer(change.object)];
    return changedBeyondStatus(change) || hasMoved(change) ? [keyOf(change.object)] : [];
  };
  return {
    reconcile: (key, context) => reconcileHost(services, key, context),
    sources: [
      source(stores.hosts, moved),
      source(stores.providerConfigs, (change) =>
        change.kind !== 'resync' && changedBeyondStatus(change) ? stores.hosts.list().map(keyOf) : [],
      ),
      // One that went without letting go leaves a Host behind.
      source(stores.machines, ({ kind, object }) =>
        kind === 'deleted' ? stores.hosts.by('machine', object.metadata.uid ?? '').map(keyOf) : [],
      ),
    ],
  };
}

/** Machines write to the status of a Host as well. */
function hasMoved({ object, before }: Change<Host>): boolean {
  const seen = (host: Host | undefined) => [host?.status?.state, host?.status?.machineRef?.uid].join();
  return seen(object) !== seen(before);
}

function wireAccessRequest(services: Services, options: AccessOptions): Wiring {
  const { stores } = services;
  const ofCluster = (cluster: Cluster): ObjectKey[] =>
    stores.accessRequests.by('cluster', keyText(keyOf(cluster))).map(keyOf);
  return {
    reconcile: (key, context) => reconcileAccessRequest(services, options, key, context),
    // A cluster that answers slowly holds up its own requests.
    groups: { groupOf: (key) => keyText(stores.accessRequests.get(key)?.spec.clusterRef ?? key), curbsSlow: true },
    sources: [
      source(stores.accessRequests, handedOver),
      // Requests that wait are woken when their cluster becomes ready, moves, or is gone.
      source(stores.clusters, (change) => (concernsAccess(change) ? ofCluster(change.object) : [])),
      source(stores.accessSecrets, (change) =>
        change.kind === 'resync' || change.kind === 'added' ? [] : requestNamedBy(change.object),
      ),
    ],
  };
}

/** A request comes to us by its phase (the operator sets it to Pending) and leaves us so, which counts like spec and labels. */
function handedOver(change: Change<AccessRequest>): ObjectKey[] {
  const phase = change.object.status?.phase;
  const phaseMoved = change.before?.status?.phase !== phase;
  const isTold = phaseMoved && (phase === phases.pending || phase === phases.denied);
  return isTold || changedBeyondStatus(change) ? [keyOf(change.object)] : [];
}

/** The Cluster that has to decide anew whom it trusts. */
function asksForTrust(change: Change<AccessRequest>): ObjectKey[] {
  const { object, before, kind } = change;
  const { clusterRef, oidc } = object.spec;
  if (!clusterRef || kind === 'resync' || !(oidc || before?.spec.oidc)) return [];
  return handedOver(change).map(() => clusterRef);
}

function concernsAccess({ kind, object, before }: Change<Cluster>): boolean {
  if (kind !== 'updated' || !before) return kind !== 'resync';
  const seen = (cluster: Cluster): string =>
    JSON.stringify([
      cluster.status?.endpoints,
      cluster.status?.phase,
      cluster.status?.providerStatus?.['oidc'],
      isTrue(cluster.status?.conditions, 'EndpointReachable'),
      cluster.metadata.deletionTimestamp,
      cluster.metadata.labels?.[openmcp.provider],
    ]);
  return seen(object) !== seen(before);
}

/** The request that owns a Secret: when the Secret is deleted or changed by hand, it is put right. */
function requestNamedBy(secret: Secret): ObjectKey[] {
  const owner = secret.metadata.ownerReferences?.find((reference) => reference.kind === 'AccessRequest');
  return owner ? [{ namespace: secret.metadata.namespace, name: owner.name }] : [];
}
