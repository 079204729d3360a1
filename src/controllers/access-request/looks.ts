import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { accessId, labels } from '../../api/names.ts';
import { type NamespacedRef, phases } from '../../api/openmcp.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../kube/core-types.ts';
import { type KubeObject, keyText, type ResourceType } from '../../kube/resource.ts';
import { Batch } from '../../lib/batch.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Services } from '../services.ts';
import type { ServerIdentity } from './kubeconfig.ts';
import { lookAgainSeconds } from './outcome.ts';
import { isResponsible } from './responsible.ts';
import { SigningKeyReader } from './signing-keys.ts';

/** In the order in which they are taken away: rights first, what they hang on last. */
export const kinds: readonly ResourceType[] = [RoleBinding, ClusterRoleBinding, Role, ClusterRole, ServiceAccount];

/** An object in a target cluster that carries the mark of a request. */
export interface Found {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

export interface Look {
  readonly found: readonly Found[];
  /** Whether it was made for this question; else it is some seconds old. */
  readonly isFresh: boolean;
}

/** A target cluster, and how one looks into it. */
export interface Site {
  readonly client: KubeClient;
  readonly looks: Looks;
  readonly keys: SigningKeyReader;
  /** The requests for which it may be looked into soon: those that wait before all others. */
  soon(): Iterable<Candidate>;
}

export interface Candidate {
  readonly id: string;
  /** For what it asked for. Others are looked at from time to time. */
  readonly isWaiting: boolean;
}

/** What was found ahead of the question counts for so long. */
const aheadSeconds = 10;
/** Who does not wait is looked at together with others from so many seconds before its time. */
const earlySeconds = 60;
/** As many ids as a selector can name without making a long URL. */
const mostTogether = 200;

/**
 * Looks into one target cluster for the objects of requests: five lists for all that ask at the same time and for those
 * that will soon. Each look costs the API server a walk over everything that is marked.
 */
export class Looks {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #batch = new Batch<string, readonly Found[]>((ids, signal) => this.#look(ids, signal));
  readonly #ahead = new Map<string, { readonly found: readonly Found[]; readonly until: number }>();
  /** Requests that are worked on. */
  readonly #busy = new Set<string>();
  /** Requests that were worked on since the last look began: what it finds of them may be out of date. */
  #disturbed = new Set<string>();
  #soon: () => Iterable<Candidate> = () => [];
  /** When a request was last worked on. */
  readonly #last = new Map<string, number>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Does something with what there is for one request. `fresh`: nothing found ahead will do. */
  async during<T>(
    id: string,
    options: { readonly signal: AbortSignal; readonly fresh: boolean; soon(): Iterable<Candidate> },
    work: (look: Look) => Promise<T>,
  ): Promise<T> {
    this.#soon = options.soon;
    this.#busy.add(id);
    this.#disturbed.add(id);
    try {
      const ahead = this.#take(id);
      if (ahead && !options.fresh) return await work({ found: ahead, isFresh: false });
      return await work({ found: (await this.#batch.ask(id, options.signal)) ?? [], isFresh: true });
    } finally {
      this.#busy.delete(id);
      this.#disturbed.add(id);
      this.#last.set(id, this.#clock.monotonic());
    }
  }

  #take(id: string): readonly Found[] | undefined {
    const ahead = this.#ahead.get(id);
    this.#ahead.delete(id);
    return ahead && this.#clock.monotonic() < ahead.until ? ahead.found : undefined;
  }

  async #look(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly Found[]>> {
    const until = this.#clock.monotonic() + aheadSeconds * 1000;
    this.#disturbed = new Set(this.#busy);
    const others = this.#others(mostTogether - ids.length);
    const answers = await findMarked(this.#client, [...ids, ...others], signal);
    this.#forgetOld(this.#clock.monotonic());
    for (const id of others) {
      if (!this.#disturbed.has(id)) this.#ahead.set(id, { found: answers.get(id) ?? [], until });
    }
    return answers;
  }

  /** What was found ahead and is out of date, and requests that are gone: nobody looked at them for long. */
  #forgetOld(now: number): void {
    for (const [id, ahead] of this.#ahead) if (ahead.until <= now) this.#ahead.delete(id);
    for (const [id, last] of this.#last) if (now - last > 2 * lookAgainSeconds * 1000) this.#last.delete(id);
  }

  #others(most: number): readonly string[] {
    const others: string[] = [];
    for (const { id, isWaiting } of this.#soon()) {
      if (others.length >= most) break;
      const isMeant = isWaiting || this.#isDue(id);
      if (isMeant && !this.#disturbed.has(id) && !this.#ahead.has(id)) others.push(id);
    }
    return others;
  }

  /** Also after a restart, when all are looked at. */
  #isDue(id: string): boolean {
    const last = this.#last.get(id);
    return last === undefined || this.#clock.monotonic() - last >= (lookAgainSeconds - earlySeconds) * 1000;
  }
}

/** Everything that carries the mark of one of these requests. */
async function findMarked(
  client: KubeClient,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Found[]>> {
  const labelSelector = `${labels.access} in (${ids.join(',')})`;
  const lists = await Promise.all(
    kinds.map(async (type) => {
      const { items } = await client.list(type, { labelSelector }, signal);
      return items.map((object): Found => ({ type, object }));
    }),
  );
  const answers = new Map<string, Found[]>(ids.map((id) => [id, []]));
  for (const found of lists.flat()) answers.get(found.object.metadata.labels?.[labels.access] ?? '')?.push(found);
  return answers;
}

/** What is learned of a cluster is shared. */
const known = new WeakMap<KubeClient, Pick<Site, 'looks' | 'keys'>>();

export async function openSite(
  services: Pick<Services, 'targets' | 'stores' | 'clock' | 'environment' | 'provider'>,
  ref: ClusterIdentity,
  server: ServerIdentity,
): Promise<Site> {
  const client = await services.targets.client(ref, server.url);
  const { clock } = services;
  const shared = known.get(client) ?? { looks: new Looks(client, clock), keys: new SigningKeyReader(client, clock) };
  known.set(client, shared);
  return { client, ...shared, soon: () => requestsFor(services, ref) };
}

/** The requests for tokens, those that wait first. */
function* requestsFor(
  { stores, environment, provider }: Pick<Services, 'stores' | 'environment' | 'provider'>,
  ref: NamespacedRef,
): Generator<Candidate> {
  const requests = stores.accessRequests
    .by('cluster', keyText(ref))
    .filter(({ spec, metadata }) => spec.token && !metadata.deletionTimestamp);
  for (const isWaiting of [true, false]) {
    for (const request of requests) {
      const { status, metadata } = request;
      if ((status?.phase === phases.pending) !== isWaiting || !isResponsible(request, provider)) continue;
      const { namespace = '', name } = metadata;
      yield { id: accessId(environment, provider, { namespace, name }), isWaiting };
    }
  }
}
