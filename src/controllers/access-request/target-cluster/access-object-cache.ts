import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { accessRequestId, labels } from '../../../api/names.ts';
import { type NamespacedRef, openmcpPhases } from '../../../api/openmcp/types.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../../kube/core-types.ts';
import { formatObjectKey, type KubeObject, type ResourceType } from '../../../kube/resource.ts';
import type { Clock } from '../../../lib/clock.ts';
import { Batcher } from '../../../lib/resilience/batcher.ts';
import type { Services } from '../../shared/services.ts';
import type { ApiServerEndpoint } from '../kubeconfig.ts';
import { isResponsible } from '../responsibility.ts';
import { accessResyncSeconds } from '../resync-interval.ts';
import { SigningKeyCache } from './signing-key-cache.ts';

/** In the order of deletion: bindings and roles first, then the account. */
export const accessObjectTypes: readonly ResourceType[] = [
  RoleBinding,
  ClusterRoleBinding,
  Role,
  ClusterRole,
  ServiceAccount,
];

/** An object in a target cluster that has the mark of a request. */
export interface AccessObject {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

export interface AccessObjectSnapshot {
  readonly snapshot: readonly AccessObject[];
  /** Whether it was listed for this call; otherwise it is some seconds old. */
  readonly isFresh: boolean;
}

/** A client of a target cluster with its caches. */
export interface TargetConnection {
  readonly client: KubeClient;
  readonly snapshots: AccessObjectCache;
  readonly keys: SigningKeyCache;
  /** The requests that may be reconciled soon, pending ones first. */
  refreshSoon(): Iterable<PrefetchCandidate>;
}

export interface PrefetchCandidate {
  readonly id: string;
  /** The request is Pending. Others are reconciled at the resync interval. */
  readonly isWaiting: boolean;
}

/** Lifetime of a prefetched result. */
const prefetchedTtlSeconds = 10;
/** Granted requests are prefetched together with others in this time before their resync. */
const prefetchEarlySeconds = 60;
/** More ids would make the URL of the label selector too long. */
const maxIdsPerList = 200;

/**
 * Lists the objects of requests in one target cluster: five lists for all requests that are reconciled now or soon.
 * Each list makes the API server filter all marked objects.
 */
export class AccessObjectCache {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #batch = new Batcher<string, readonly AccessObject[]>((ids, signal) => this.#list(ids, signal));
  readonly #pendingWrites = new Map<string, { readonly snapshot: readonly AccessObject[]; readonly until: number }>();
  /** Requests whose reconcile is running. */
  readonly #busy = new Set<string>();
  /** Requests that were reconciled since the last list began: its result may be stale for them. */
  #changedDuringList = new Set<string>();
  #soon: () => Iterable<PrefetchCandidate> = () => [];
  /** The time of the last reconcile of each request. */
  readonly #last = new Map<string, number>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Calls `work` with the objects of one request. `fresh`: prefetched results are not used. */
  async during<T>(
    id: string,
    options: { readonly signal: AbortSignal; readonly fresh: boolean; refreshSoon(): Iterable<PrefetchCandidate> },
    work: (read: AccessObjectSnapshot) => Promise<T>,
  ): Promise<T> {
    this.#soon = options.refreshSoon;
    this.#busy.add(id);
    this.#changedDuringList.add(id);
    try {
      const ahead = this.#take(id);
      if (ahead && !options.fresh) return await work({ snapshot: ahead, isFresh: false });
      return await work({ snapshot: (await this.#batch.request(id, options.signal)) ?? [], isFresh: true });
    } finally {
      this.#busy.delete(id);
      this.#changedDuringList.add(id);
      this.#last.set(id, this.#clock.monotonic());
    }
  }

  #take(id: string): readonly AccessObject[] | undefined {
    const ahead = this.#pendingWrites.get(id);
    this.#pendingWrites.delete(id);
    return ahead && this.#clock.monotonic() < ahead.until ? ahead.snapshot : undefined;
  }

  async #list(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly AccessObject[]>> {
    const until = this.#clock.monotonic() + prefetchedTtlSeconds * 1000;
    this.#changedDuringList = new Set(this.#busy);
    const others = this.#others(maxIdsPerList - ids.length);
    const answers = await listMarkedObjects(this.#client, [...ids, ...others], signal);
    this.#forgetOld(this.#clock.monotonic());
    for (const id of others) {
      if (!this.#changedDuringList.has(id)) this.#pendingWrites.set(id, { snapshot: answers.get(id) ?? [], until });
    }
    return answers;
  }

  /** Removes expired prefetched results, and requests that are gone because their last reconcile is long ago. */
  #forgetOld(now: number): void {
    for (const [id, ahead] of this.#pendingWrites) if (ahead.until <= now) this.#pendingWrites.delete(id);
    for (const [id, last] of this.#last) if (now - last > 2 * accessResyncSeconds * 1000) this.#last.delete(id);
  }

  #others(max: number): readonly string[] {
    const others: string[] = [];
    for (const { id, isWaiting } of this.#soon()) {
      if (others.length >= max) break;
      const isMeant = isWaiting || this.#isDue(id);
      if (isMeant && !this.#changedDuringList.has(id) && !this.#pendingWrites.has(id)) others.push(id);
    }
    return others;
  }

  /** True for all requests after a restart. */
  #isDue(id: string): boolean {
    const last = this.#last.get(id);
    return last === undefined || this.#clock.monotonic() - last >= (accessResyncSeconds - prefetchEarlySeconds) * 1000;
  }
}

/** All objects with the mark of one of these requests. */
async function listMarkedObjects(
  client: KubeClient,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly AccessObject[]>> {
  const labelSelector = `${labels.access} in (${ids.join(',')})`;
  const lists = await Promise.all(
    accessObjectTypes.map(async (type) => {
      const { items } = await client.list(type, { labelSelector }, signal);
      return items.map((object): AccessObject => ({ type, object }));
    }),
  );
  const answers = new Map<string, AccessObject[]>(ids.map((id) => [id, []]));
  for (const found of lists.flat()) answers.get(found.object.metadata.labels?.[labels.access] ?? '')?.push(found);
  return answers;
}

/** The caches of a cluster are shared. */
const sharedByClient = new WeakMap<KubeClient, Pick<TargetConnection, 'snapshots' | 'keys'>>();

export async function openTargetConnection(
  services: Pick<Services, 'targets' | 'stores' | 'clock' | 'environment' | 'provider'>,
  ref: ClusterIdentity,
  server: ApiServerEndpoint,
): Promise<TargetConnection> {
  const client = await services.targets.client(ref, server.url);
  const { clock } = services;
  const shared = sharedByClient.get(client) ?? {
    snapshots: new AccessObjectCache(client, clock),
    keys: new SigningKeyCache(client, clock),
  };
  sharedByClient.set(client, shared);
  return { client, ...shared, refreshSoon: () => listPrefetchCandidates(services, ref) };
}

/** Token requests, pending ones first. */
function* listPrefetchCandidates(
  { stores, environment, provider }: Pick<Services, 'stores' | 'environment' | 'provider'>,
  ref: NamespacedRef,
): Generator<PrefetchCandidate> {
  const requests = stores.accessRequests
    .by('cluster', formatObjectKey(ref))
    .filter(({ spec, metadata }) => spec.token && !metadata.deletionTimestamp);
  for (const isWaiting of [true, false]) {
    for (const request of requests) {
      const { status, metadata } = request;
      if ((status?.phase === openmcpPhases.pending) !== isWaiting || !isResponsible(request, provider)) continue;
      const { namespace = '', name } = metadata;
      yield { id: accessRequestId(environment, provider, { namespace, name }), isWaiting };
    }
  }
}
