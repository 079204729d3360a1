import { openmcpKeys } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef, openmcpPhases } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { ReconcileContext } from '../../../src/kube/controller/controller.ts';
import { type KubeObject, type ObjectKey, objectKeyOf, type ResourceType } from '../../../src/kube/resource.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { ClusterRequest } from './cluster-request.ts';
import { selectorText } from './config.ts';
import { isIgnoredByOperation } from './event-filter.ts';
import { chooseCluster, describeCluster, type SchedulingConfig, tenantCount } from './placement.ts';

const requestFinalizer = 'clusters.openmcp.cloud/request';
const deleteWithoutRequests = 'clusters.openmcp.cloud/delete-without-requests';

/**
 * The operator's scheduler: gives each ClusterRequest a Cluster, shared or its own, by the purpose mapping. A request
 * is granted as soon as the Cluster *object* exists. Finalizer lists are replaced whole and without optimistic locking,
 * as by the operator: a finalizer that is added concurrently is lost, and its owner must detect that.
 */
export async function reconcileClusterRequest(
  kube: KubeClient,
  config: SchedulingConfig,
  key: ObjectKey,
  context: ReconcileContext,
): Promise<void> {
  const { signal } = context;
  const found = await kube.find(ClusterRequest, key, signal);
  if (!found || isIgnoredByOperation(found)) return;
  const request = await removeReconcileAnnotation(kube, found, signal);
  if (request.metadata.deletionTimestamp) return await releaseRequest(kube, config, request, signal);
  const held = await setFinalizers(kube, ClusterRequest, request, [...finalizersOf(request), requestFinalizer], signal);
  try {
    const cluster = await schedule(kube, config, held, signal);
    await reportStatus(kube, held, openmcpPhases.granted, cluster, signal);
  } catch (error) {
    await reportStatus(kube, held, openmcpPhases.pending, held.status?.cluster, signal);
    throw error;
  }
}

const finalizersOf = (object: KubeObject): string[] => object.metadata.finalizers ?? [];

async function removeReconcileAnnotation(
  kube: KubeClient,
  request: ClusterRequest,
  signal: AbortSignal,
): Promise<ClusterRequest> {
  if (request.metadata.annotations?.[openmcpKeys.operation] !== 'reconcile') return request;
  const patch = { metadata: { annotations: { [openmcpKeys.operation]: null } } };
  return await kube.merge(ClusterRequest, objectKeyOf(request), patch, {}, signal);
}

async function setFinalizers<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<T> {
  const finalizers = [...new Set(wanted)];
  if (finalizers.length === finalizersOf(object).length) return object;
  return await kube.merge(type, objectKeyOf(object), { metadata: { finalizers } }, {}, signal);
}

/** The finalizer of a request on its Cluster; their number is the number of tenants. */
export const tenantFinalizer = (request: ClusterRequest): string =>
  `request.clusters.openmcp.cloud/${request.metadata.uid}`;

async function schedule(
  kube: KubeClient,
  config: SchedulingConfig,
  request: ClusterRequest,
  signal: AbortSignal,
): Promise<NamespacedRef> {
  const definition = config.purposeMappings[request.spec.purpose];
  const assigned = request.status?.cluster;
  if (assigned) {
    const cluster = await kube.find(Cluster, assigned, signal);
    if (cluster) return await addTenant(kube, request, cluster, signal);
  }
  if (!definition) {
    throw new ProviderError('CONFIG_INVALID', `No cluster definition for the purpose ${request.spec.purpose}.`);
  }
  const fresh = describeCluster(request, definition, tenantFinalizer(request), assigned);
  if (assigned) return await createCluster(kube, request, fresh, signal);
  const namespace = config.scope === 'Cluster' ? undefined : fresh.metadata.namespace;
  const labelSelector = selectorText(config.selectors.clusters, definition.selector);
  const { items } = await kube.list(Cluster, { namespace, labelSelector }, signal);
  const fitting = items.filter((cluster) => cluster.spec.purposes?.includes(request.spec.purpose));
  const own = fitting.find((cluster) => finalizersOf(cluster).includes(tenantFinalizer(request)));
  const chosen = own ?? chooseCluster(fitting, definition, config.strategy);
  return chosen ? await addTenant(kube, request, chosen, signal) : await createCluster(kube, request, fresh, signal);
}

/** Adds the request's finalizer to the Cluster; an exclusive Cluster also gets the request's inherited metadata. */
async function addTenant(
  kube: KubeClient,
  request: ClusterRequest,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<NamespacedRef> {
  await setFinalizers(kube, Cluster, cluster, [...finalizersOf(cluster), tenantFinalizer(request)], signal);
  if (cluster.spec.tenancy === 'Exclusive') {
    const { labels, annotations } = inheritedMetadata(request);
    if (Object.keys({ ...labels, ...annotations }).length > 0) {
      await kube.merge(Cluster, objectKeyOf(cluster), { metadata: { labels, annotations } }, {}, signal);
    }
  }
  return { name: cluster.metadata.name, namespace: cluster.metadata.namespace ?? '' };
}

function inheritedMetadata({ metadata }: ClusterRequest) {
  const pick = (values: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(values).filter(([key]) => key.startsWith(openmcpKeys.metadataPrefix)));
  return { labels: pick(metadata.labels), annotations: pick(metadata.annotations) };
}

async function createCluster(
  kube: KubeClient,
  request: ClusterRequest,
  fresh: Cluster,
  signal: AbortSignal,
): Promise<NamespacedRef> {
  const { metadata } = fresh;
  const { labels, annotations } = fresh.spec.tenancy === 'Exclusive' ? inheritedMetadata(request) : {};
  const cluster: Cluster = {
    ...fresh,
    metadata: {
      ...metadata,
      labels: { [deleteWithoutRequests]: 'true', ...metadata.labels, ...labels },
      annotations: { ...metadata.annotations, ...annotations },
    },
  };
  const existing = metadata.name ? await kube.find(Cluster, objectKeyOf(cluster), signal) : undefined;
  if (existing) {
    await rejectTakenName(kube, existing, signal);
    return await addTenant(kube, request, existing, signal);
  }
  const made = await kube.create(Cluster, cluster, signal);
  return { name: made.metadata.name, namespace: made.metadata.namespace ?? '' };
}

/** A Cluster of this name with another existing request is a conflict. */
async function rejectTakenName(kube: KubeClient, existing: Cluster, signal: AbortSignal): Promise<void> {
  const { items } = await kube.list(ClusterRequest, {}, signal);
  const holder = items.find((other) => finalizersOf(existing).includes(tenantFinalizer(other)));
  if (!holder) return;
  throw new ProviderError(
    'CONFIG_INVALID',
    `ClusterConflict: Cluster ${existing.metadata.name} is used by ClusterRequest ${holder.metadata.name}.`,
  );
}

/**
 * Removes the request's finalizer from its Clusters, deletes Clusters without other requests, and releases the request
 * at once.
 */
async function releaseRequest(
  kube: KubeClient,
  config: SchedulingConfig,
  request: ClusterRequest,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = selectorText(config.selectors.clusters);
  const { items } = await kube.list(Cluster, { labelSelector }, signal);
  for (const cluster of items.filter((one) => finalizersOf(one).includes(tenantFinalizer(request)))) {
    const others = finalizersOf(cluster).filter((name) => name !== tenantFinalizer(request));
    const left = await setFinalizers(kube, Cluster, cluster, others, signal);
    if (tenantCount(left) === 0 && left.metadata.labels?.[deleteWithoutRequests] === 'true') {
      await kube.remove(Cluster, objectKeyOf(cluster), {}, signal);
    }
  }
  const rest = finalizersOf(request).filter((name) => name !== requestFinalizer);
  await setFinalizers(kube, ClusterRequest, request, rest, signal);
}

async function reportStatus(
  kube: KubeClient,
  request: ClusterRequest,
  phase: string,
  cluster: NamespacedRef | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { generation = 0 } = request.metadata;
  const before = request.status;
  const isSame = before?.phase === phase && before.observedGeneration === generation;
  if (isSame && before.cluster?.name === cluster?.name) return;
  const status = { phase, observedGeneration: generation, ...(cluster && { cluster }) };
  await kube.merge(ClusterRequest, objectKeyOf(request), { status }, { subresource: 'status' }, signal);
}
