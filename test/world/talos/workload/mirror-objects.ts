import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { KubeError } from '../../../../src/kube/errors.ts';
import { Reflector } from '../../../../src/kube/reflector/reflector.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../../src/kube/resource.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog } from '../../../../src/lib/log.ts';
import { createMergePatch } from '../../../../src/lib/merge-patch.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import type { ApiObject, KubeStore, ObjectRef } from '../../kube/storage/store.ts';
import type { ServerPods } from './server-pods.ts';

interface Mirrored extends KubeObject {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const Pod: ResourceType<Mirrored> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
const Node = KubeNode as ResourceType<Mirrored>;
const mirroredTypes: readonly ResourceType<Mirrored>[] = [Node, Pod];

/** A Pod with this annotation needs no ServiceAccount: it mirrors a static pod of the kubelet. */
const mirrorMark = { 'kubernetes.io/config.mirror': 'world' };
/** Admission adds it to every new Node; the node lifecycle controller, which is absent here, removes it. */
const notReady = 'node.kubernetes.io/not-ready';

/**
 * Synchronises a real API server and the simulator's store in Nodes and the Pods of static pods. Writes of kubelets to
 * the store go to the server; changes of Nodes there (labels, annotations, taints, cordon, deletion) come back. All Pods
 * of the server go to `pods`. Ends with `signal`.
 */
export async function mirrorObjects(
  client: KubeClient,
  store: KubeStore,
  pods: ServerPods,
  signal: AbortSignal,
): Promise<void> {
  pods.connect(client);
  const pushes = new PendingWrites(client, store, signal);
  const stop = store.onChange(({ object }) => {
    if (isMirrored(object)) pushes.add(refOf(object));
  });
  const reflectors = mirroredTypes.map((type) => new Reflector(client, type, { clock: systemClock, log: noLog }));
  for (const reflector of reflectors) {
    reflector.onChange(({ kind, object }) => {
      const ref = { ...refOf(object as ApiObject), kind: reflector.type.kind, apiVersion: 'v1' };
      if (reflector.type === Pod) pods.took(kind, object);
      if (kind === 'deleted') store.remove(ref);
      else if (reflector.type === Node) copyToStore(store, ref, object);
    });
  }
  for (const object of ['Node', 'Pod'].flatMap((kind) => store.list({ apiVersion: 'v1', kind }))) {
    if (isMirrored(object)) pushes.add(refOf(object));
  }
  await Promise.all(reflectors.map((reflector) => reflector.start(signal)));
  stop();
}

const isMirrored = ({ kind }: ApiObject): boolean => kind === 'Node' || kind === 'Pod';

function refOf({ apiVersion, kind, metadata }: ApiObject): ObjectRef {
  const { name, namespace } = metadata;
  return { apiVersion, kind, name, ...(namespace ? { namespace } : {}) };
}

/** Writes a Node's external changes to the store. Its status belongs to the kubelet. */
function copyToStore(store: KubeStore, ref: ObjectRef, real: Mirrored): void {
  const known = store.get(ref);
  if (!known) return;
  const { labels, annotations } = real.metadata;
  const taints = withoutNotReady(real.spec?.['taints']);
  const spec = { ...real.spec, taints };
  const { taints: _given, ...bare } = spec;
  const wanted = {
    ...known,
    metadata: { ...known.metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: taints.length > 0 ? spec : bare,
  };
  if (createMergePatch(known, wanted)) store.put(wanted);
}

type Taint = { readonly key: string };
const withoutNotReady = (taints: unknown): Taint[] =>
  (Array.isArray(taints) ? (taints as Taint[]) : []).filter(({ key }) => key !== notReady);

/** Writes changes until the server has them, with one write per object at a time. */
class PendingWrites {
  readonly #client: KubeClient;
  readonly #store: KubeStore;
  readonly #signal: AbortSignal;
  /** `true`: changed again since its push began. */
  readonly #open = new Map<string, boolean>();

  constructor(client: KubeClient, store: KubeStore, signal: AbortSignal) {
    this.#client = client;
    this.#store = store;
    this.#signal = signal;
  }

  add(ref: ObjectRef): void {
    const key = JSON.stringify(ref);
    const isOpen = this.#open.has(key);
    this.#open.set(key, isOpen);
    if (!isOpen) void this.#run(key, ref);
  }

  /** Never rejects: it retries until it succeeds or the mirror ends. */
  async #run(key: string, ref: ObjectRef): Promise<void> {
    while (!this.#signal.aborted) {
      this.#open.set(key, false);
      const isDone = await this.#push(ref).then(
        () => true,
        (error: unknown) => isPermanentRejection(error),
      );
      if (!isDone) await delay(200, undefined, { signal: this.#signal }).catch(() => undefined);
      else if (this.#open.get(key) === false) break;
    }
    this.#open.delete(key);
  }

  async #push(ref: ObjectRef): Promise<void> {
    const type = ref.kind === 'Node' ? Node : Pod;
    const object = this.#store.get(ref) as Mirrored | undefined;
    const key = { name: ref.name, namespace: ref.namespace };
    if (!object) {
      await this.#client.remove(type, key, {}, this.#signal);
      return;
    }
    const wanted = type === Pod ? withMirrorAnnotation(object) : object;
    const real = (await this.#client.find(type, key, this.#signal)) ?? (await this.#create(type, wanted));
    const patch = differenceOf(type, real, wanted);
    if (patch) await this.#client.merge(type, objectKeyOf(object), patch, {}, this.#signal);
    const status = additions(real.status ?? {}, wanted.status ?? {});
    if (status)
      await this.#client.merge(type, objectKeyOf(object), { status }, { subresource: 'status' }, this.#signal);
  }

  async #create(type: ResourceType<Mirrored>, { metadata, spec }: Mirrored): Promise<Mirrored> {
    const { name, namespace, labels, annotations } = metadata;
    const about = {
      name,
      ...(namespace && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    };
    const body = { apiVersion: 'v1', kind: type.kind, metadata: about, ...(spec && { spec }) };
    return await this.#client.create(type, body as Mirrored, this.#signal);
  }
}

/** The server refuses the object: only another change can help. */
const isPermanentRejection = (error: unknown): boolean =>
  error instanceof KubeError && [400, 403, 422].includes(error.status);

const withMirrorAnnotation = (pod: Mirrored): Mirrored => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...mirrorMark } },
});

/** The server's missing fields. Additions there are kept, except for the taint of a Node that is ready. */
function differenceOf(type: ResourceType<Mirrored>, real: Mirrored, wanted: Mirrored): object | undefined {
  const metadata = additions(
    { labels: real.metadata.labels ?? {}, annotations: real.metadata.annotations ?? {} },
    { labels: wanted.metadata.labels ?? {}, annotations: wanted.metadata.annotations ?? {} },
  );
  const spec = type === Node ? taintsOf(real, wanted) : imagesOf(real, wanted);
  return metadata || spec ? { ...(metadata && { metadata }), ...(spec && { spec }) } : undefined;
}

function taintsOf(real: Mirrored, wanted: Mirrored): object | undefined {
  const conditions = (wanted.status?.['conditions'] ?? []) as { type: string; status: string }[];
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  const taints = (real.spec?.['taints'] ?? []) as Taint[];
  const left = withoutNotReady(taints);
  return isReady && left.length < taints.length ? { taints: left } : undefined;
}

/** No other field of a Pod may change. */
function imagesOf(real: Mirrored, wanted: Mirrored): object | undefined {
  const images = (pod: Mirrored) =>
    JSON.stringify(((pod.spec?.['containers'] ?? []) as { image: string }[]).map(({ image }) => image));
  return images(real) === images(wanted) ? undefined : { containers: wanted.spec?.['containers'] };
}

/** The merge patch that adds all fields of `wanted` to `real` and removes none. */
function additions(real: object, wanted: object): object | undefined {
  return withoutNull(createMergePatch({ ...real }, { ...wanted }));
}

function withoutNull(patch: object | undefined): object | undefined {
  const entries = Object.entries(patch ?? {}).flatMap(([key, value]): [string, unknown][] => {
    if (value === null) return [];
    if (typeof value !== 'object' || Array.isArray(value)) return [[key, value]];
    const inner = withoutNull(value);
    return inner ? [[key, inner]] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
