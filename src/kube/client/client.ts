import { withDeadline } from '../../lib/deadline.ts';
import type { Log } from '../../lib/log.ts';
import { noLog } from '../../lib/log.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { isGone, isNotFound, isObjectNotFound, isResponseTooLong, KubeError } from '../errors.ts';
import type { KubeObject, ObjectKey, ResourceType } from '../resource.ts';
import { apiVersionOf, objectKeyOf } from '../resource.ts';
import type { HttpMethod, KubeRequest, QueryParameters } from '../transport/request.ts';
import { maxShortResponseBytes } from '../transport/response-limits.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  AccessAttributes,
  ApplyConfiguration,
  ListOptions,
  ObjectList,
  RemoveOptions,
  WatchOptions,
} from './client-types.ts';
import { ListBudget } from './list-budget.ts';
import { collectionPath, objectPath } from './resource-paths.ts';
import { type Table, TableReader, tableAcceptHeader, tableQuery } from './table.ts';
import { parseWatchEvent, type WatchEvent } from './watch-event.ts';

/** Maximum duration of a text that is read line by line. */
const scanSeconds = 60;

export interface KubeClientOptions {
  /** The owner of the fields that this client writes. Part of the API: a renamed manager loses ownership of them. */
  readonly fieldManager: string;
  /** Deadline of each call; default 30. */
  readonly deadlineSeconds?: number;
  readonly log?: Log;
}

/** The verbs of the Kubernetes API for objects of any kind. Every method throws a `KubeError`. */
export class KubeClient {
  readonly #transport: Transport;
  readonly #fieldManager: string;
  readonly #deadlineSeconds: number;
  readonly #log: Log;

  constructor(transport: Transport, options: KubeClientOptions) {
    this.#transport = transport;
    this.#fieldManager = options.fieldManager;
    this.#deadlineSeconds = options.deadlineSeconds ?? 30;
    this.#log = options.log ?? noLog;
  }

  async get<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey, signal?: AbortSignal): Promise<T> {
    return await this.#send<T>('GET', objectPath(type, key), { signal });
  }

  /** Returns `undefined` when the object does not exist. An unknown kind is still an error. */
  async find<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.get(type, key, signal);
    } catch (error) {
      if (isObjectNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Lists all objects of the selection, in pages, each object with its `apiVersion` and `kind`. */
  async list<T extends KubeObject>(
    type: ResourceType<T>,
    options: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<ObjectList<T>> {
    return await withDeadline(this.#transport.limits.listSeconds, signal, async (limited) => {
      try {
        return await this.#pages(type, options, 'paged', limited);
      } catch (error) {
        if (!isGone(error)) throw error;
        // The API server compacted the snapshot between two pages: repeat the list in one page.
        return await this.#pages(type, options, 'whole', limited);
      }
    });
  }

  async create<T extends KubeObject>(type: ResourceType<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path = collectionPath(type, object.metadata.namespace);
    return await this.#send<T>('POST', path, { query: this.#manager(), body: withTypeMeta(type, object), signal });
  }

  /** Sends a PUT. With `metadata.resourceVersion` it fails with a conflict when the object has changed since. */
  async replace<T extends KubeObject>(type: ResourceType<T>, object: T, signal?: AbortSignal): Promise<T> {
    const body = withTypeMeta(type, object);
    return await this.#send<T>('PUT', objectPath(type, objectKeyOf(object)), { query: this.#manager(), body, signal });
  }

  /**
   * Server-side apply: sets the given fields, creates the object if it does not exist, and removes fields that this
   * manager applied before and omits now. Throws a conflict when another manager owns a field, unless `force` is set.
   */
  async apply<T extends KubeObject>(
    type: ResourceType<T>,
    object: ApplyConfiguration<T>,
    options: { force?: boolean; subresource?: 'status'; fieldManager?: string } = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const { name, namespace } = object.metadata;
    return await this.#send<T>(
      'PATCH',
      objectPath(type, { name, namespace: namespace ?? undefined }, options.subresource),
      {
        query: { fieldManager: options.fieldManager ?? this.#fieldManager, force: options.force },
        contentType: 'application/apply-patch+yaml',
        body: withTypeMeta(type, object),
        signal,
      },
    );
  }

  /** Sends a merge patch: `null` removes a field, lists are replaced. With `resourceVersion` it can conflict. */
  async merge<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: object,
    options: { subresource?: 'status'; resourceVersion?: string } = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const body = options.resourceVersion === undefined ? patch : withResourceVersion(patch, options.resourceVersion);
    return await this.#send<T>('PATCH', objectPath(type, key, options.subresource), {
      query: this.#manager(),
      contentType: 'application/merge-patch+json',
      body,
      signal,
    });
  }

  /**
   * Requests the deletion. Returns false when the object does not exist. A finalizer may keep the object for a while.
   */
  async remove(
    type: ResourceType,
    key: ObjectKey,
    options: RemoveOptions = {},
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { uid, resourceVersion, propagation } = options;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(propagation && { propagationPolicy: propagation }),
      ...(Object.keys(preconditions).length > 0 && { preconditions }),
    };
    try {
      await this.#send('DELETE', objectPath(type, key), { body, signal });
      return true;
    } catch (error) {
      if (isObjectNotFound(error)) return false;
      throw error;
    }
  }

  /** Requests a token for a service account. The API server may choose another lifetime than the requested one. */
  async requestToken(
    serviceAccount: ObjectKey,
    options: { expirationSeconds: number; audiences?: string[] },
    signal?: AbortSignal,
  ): Promise<{ token: SecretString; expiration: Date }> {
    const type: ResourceType = { group: '', version: 'v1', kind: '', plural: 'serviceaccounts', namespaced: true };
    const answer = await this.#send<{ status: { token: string; expirationTimestamp: string } }>(
      'POST',
      objectPath(type, serviceAccount, 'token'),
      { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: options }, signal },
    );
    return { token: new SecretString(answer.status.token), expiration: new Date(answer.status.expirationTimestamp) };
  }

  /**
   * Ids of the keys that may sign service account tokens, as in the `kid` header of a token. `undefined` where the API
   * server does not publish them because its issuer is not a URL.
   */
  async signingKeys(signal?: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    try {
      const accept = 'application/jwk-set+json';
      const { keys = [] } = await this.#send<JsonWebKeySet>('GET', '/openid/v1/jwks', {
        accept,
        signal,
        maxBytes: maxShortResponseBytes,
      });
      return new Set(keys.flatMap(({ kid }) => kid ?? []));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Passes on the events from `resourceVersion` on. Returns normally after `timeoutSeconds` or `idleSeconds`. Throws
   * when the API server sends an error or an invalid line, when the stream breaks, and with the signal's reason when
   * the signal aborts.
   */
  async watch<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions,
    take: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const path = collectionPath(type, options.namespace, true);
    const form = tableFormOf(type);
    const request = {
      path,
      ...form?.headers,
      query: {
        ...toSelectorQuery(options),
        ...form?.query,
        watch: true,
        allowWatchBookmarks: options.bookmarks ?? true,
        resourceVersion: options.resourceVersion,
        timeoutSeconds: Math.ceil(options.timeoutSeconds),
      },
      deadlineSeconds: this.#deadlineSeconds,
      idleSeconds: options.idleSeconds,
      maxLifetimeSeconds: options.timeoutSeconds + 15,
      signal,
    };
    await this.#transport.stream(request, (line) =>
      take(form ? form.reader.event(parseWatchEvent(path, line)) : parseWatchEvent<T>(path, line)),
    );
  }

  /**
   * Passes on the lines of a long text, e.g. of `/metrics`, without holding it. Throws what `take` throws, e.g. at its own
   * limit of lines.
   */
  async scanLines(path: string, take: (line: string) => void, signal: AbortSignal): Promise<void> {
    const limits = { deadlineSeconds: this.#deadlineSeconds, idleSeconds: this.#deadlineSeconds };
    // API servers send logs of Pods as text, but refuse a request that accepts nothing else.
    const accept = 'text/plain, */*;q=0.1';
    const request = { path, accept, ...limits, maxLifetimeSeconds: scanSeconds, isOneText: true, signal };
    await this.#transport.stream(request, take);
  }

  /** The identity that the API server derives from the credentials. */
  async reviewSelf(signal?: AbortSignal): Promise<{ username: string; groups: string[] }> {
    const review = await this.#review<{ status: { userInfo: { username: string; groups?: string[] } } }>(
      'authentication.k8s.io',
      'SelfSubjectReview',
      undefined,
      signal,
    );
    const { username, groups } = review.status.userInfo;
    return { username, groups: groups ?? [] };
  }

  /** Whether these credentials permit the access. */
  async reviewAccess(access: AccessAttributes, signal?: AbortSignal): Promise<boolean> {
    const spec = 'path' in access ? { nonResourceAttributes: access } : { resourceAttributes: access };
    const review = await this.#review<{ status: { allowed: boolean } }>(
      'authorization.k8s.io',
      'SelfSubjectAccessReview',
      spec,
      signal,
    );
    return review.status.allowed;
  }

  /**
   * Sends any other request with a short response, by its path, e.g. `/version`. Returns text for a response that is
   * not JSON.
   */
  async raw<T>(method: HttpMethod, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return await this.#send<T>(method, path, { body, signal, maxBytes: maxShortResponseBytes });
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #pages<T extends KubeObject>(
    type: ResourceType<T>,
    options: ListOptions,
    manner: 'paged' | 'whole',
    signal: AbortSignal,
  ): Promise<ObjectList<T>> {
    const form = tableFormOf(type);
    const path = collectionPath(type, options.namespace, true);
    const budget = new ListBudget(this.#transport.limits, path);
    const { maxItems = Number.POSITIVE_INFINITY } = options;
    const items: T[] = [];
    let token: string | undefined;
    for (;;) {
      const limit = manner === 'paged' ? Math.min(budget.pageSize, maxItems - items.length) : undefined;
      const query = { ...toSelectorQuery(options), ...form?.query, limit, continue: token };
      const page = await this.#page<T>(path, { query, signal, ...form?.headers }, budget, manner);
      if (page === undefined) continue;
      if (typeof page !== 'object' || page === null) throw notAListError(path);
      const listed = form?.reader.objects(page) ?? parseListItems(page, type, path);
      for (const item of listed) items.push(item);
      token = page.metadata?.continue || undefined;
      budget.took(listed.length, token);
      if (isListComplete(items, maxItems, token))
        return { items: items.slice(0, maxItems), resourceVersion: page.metadata?.resourceVersion ?? '' };
    }
  }

  /** Returns undefined when the page is too long and the caller can repeat the request with fewer objects. */
  async #page<T>(
    path: string,
    request: Pick<KubeRequest, 'query' | 'accept' | 'signal'>,
    budget: ListBudget,
    manner: 'paged' | 'whole',
  ): Promise<(ListPage<T> & Table) | undefined> {
    const { maxBytes } = budget;
    const received = (bytes: number) => budget.received(bytes);
    try {
      return await this.#send<ListPage<T> & Table>('GET', path, { ...request, maxBytes, received });
    } catch (error) {
      if (isResponseTooLong(error) && manner === 'paged' && budget.shrink()) return undefined;
      throw error;
    }
  }

  async #review<T>(group: string, kind: string, spec: object | undefined, signal?: AbortSignal): Promise<T> {
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
    return await this.#send<T>('POST', path, {
      body: { apiVersion: `${group}/v1`, kind, ...(spec && { spec }) },
      signal,
    });
  }

  #manager(): QueryParameters {
    return { fieldManager: this.#fieldManager };
  }

  async #send<T>(
    method: HttpMethod,
    path: string,
    request: Omit<KubeRequest, 'method' | 'path' | 'deadlineSeconds'>,
  ): Promise<T> {
    if (method !== 'GET') this.#log.debug({ method, path }, 'kube call');
    return await this.#transport.request<T>({ method, path, ...request, deadlineSeconds: this.#deadlineSeconds });
  }
}

/** Adds the kind to each item: a list states it only once. */
function parseListItems<T extends KubeObject>(page: ListPage<T>, type: ResourceType<T>, path: string): readonly T[] {
  const items: unknown = page.items ?? [];
  const isObject = (item: unknown): boolean => isRecord(item) && isRecord(item['metadata']);
  if (!Array.isArray(items) || !items.every(isObject)) throw notAListError(path);
  const identity = { apiVersion: apiVersionOf(type), kind: type.kind };
  return items.map((item: T) => ({ ...item, ...identity }));
}

const notAListError = (path: string): KubeError =>
  new KubeError({ status: 0, reason: 'BadAnswer', message: `GET ${path}: the response is not a list of objects` });

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

interface JsonWebKeySet {
  readonly keys?: readonly { readonly kid?: string }[];
}

interface ListPage<T> {
  readonly items?: T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

function toSelectorQuery({ labelSelector, fieldSelector }: ListOptions): QueryParameters {
  return { labelSelector, fieldSelector };
}

/** The table form of a kind that is read from rows; undefined for all other kinds. */
function tableFormOf<T extends KubeObject>(type: ResourceType<T>) {
  const { fromRow } = type;
  return (
    fromRow && { headers: { accept: tableAcceptHeader }, query: tableQuery, reader: new TableReader(type, fromRow) }
  );
}

function withTypeMeta(type: ResourceType, object: object): object {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

function withResourceVersion(patch: object, resourceVersion: string): object {
  const metadata = 'metadata' in patch && typeof patch.metadata === 'object' ? patch.metadata : {};
  return { ...patch, metadata: { ...metadata, resourceVersion } };
}

const isListComplete = (items: readonly unknown[], maxItems: number, token: string | undefined): boolean =>
  !token || items.length >= maxItems;
