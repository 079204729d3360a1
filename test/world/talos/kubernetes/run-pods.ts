import type { ApiObject, KubeStore } from '../../kube/storage/store.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

/** Access of a kubelet to the Pods of its node. */
export interface PodAccess {
  /** The Pods that are bound to the node, as known now. */
  list(): readonly ApiObject[];
  /** Calls back after changes; returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  writeStatus(pod: ApiObject, status: Record<string, unknown>): void;
  /** The last step of a deletion: with no grace period. */
  remove(pod: ApiObject): void;
}

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/**
 * The part of the kubelet that runs Pods: one that is bound to its node becomes Ready, and one that is being deleted is
 * removed after its grace period. Nothing happens to Pods while the kubelet does not run.
 */
export function runPods(node: TalosNode, access: PodAccess): void {
  /** Work under way, by UID and kind. */
  const open = new Set<string>();
  const later = (key: string, seconds: number, work: () => void): void => {
    if (open.has(key)) return;
    open.add(key);
    node.world.later(seconds, () => {
      open.delete(key);
      if (!node.signal.aborted && !node.running) work();
    });
  };
  const current = (uid: string | undefined) => access.list().find(({ metadata }) => metadata.uid === uid);
  const look = (): void => {
    for (const pod of access.list()) {
      const { metadata } = pod;
      const { uid } = metadata;
      if (metadata.deletionTimestamp !== undefined) {
        later(`end ${uid}`, secondsToEnd(metadata), () => withPod(current(uid), access.remove));
      } else if (isToStart(pod)) {
        later(`start ${uid}`, timings.podStart, () => withPod(current(uid), (pod) => startPod(node, access, pod)));
      }
    }
  };
  node.onClose(access.onChange(look));
  look();
}

function withPod(pod: ApiObject | undefined, work: (pod: ApiObject) => void): void {
  if (pod) work(pod);
}

/** A container that ends on SIGTERM needs less than its grace period; a mirror Pod has nothing to end. */
const secondsToEnd = ({ annotations, deletionGracePeriodSeconds = 0 }: ApiObject['metadata']): number =>
  annotations?.[mirrorAnnotation] === undefined ? Math.min(timings.podStop, deletionGracePeriodSeconds) : 0;

/** Pods that wait, and those that were given up while the node was away. */
function isToStart({ metadata, status }: ApiObject): boolean {
  const { phase, conditions = [] } = (status ?? {}) as {
    phase?: string;
    conditions?: { type: string; status: string }[];
  };
  if (metadata.annotations?.[mirrorAnnotation] !== undefined || metadata.deletionTimestamp !== undefined) return false;
  return (
    phase !== 'Succeeded' &&
    phase !== 'Failed' &&
    !conditions.some((one) => one.type === 'Ready' && one.status === 'True')
  );
}

function startPod(node: TalosNode, access: PodAccess, pod: ApiObject): void {
  const status = (pod['status'] ?? {}) as { phase?: string; conditions?: { type: string }[] };
  if (!isToStart(pod)) return;
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
  access.writeStatus(pod, {
    ...status,
    phase: 'Running',
    hostIP: node.addresses[0],
    startTime: now,
    conditions: [...others, { type: 'Ready', status: 'True', lastTransitionTime: now }],
  });
}

/** The node lifecycle controller, for a Node that has become `Unknown`: its Pods serve nobody. */
export function markPodsNotReady(store: KubeStore, nodeName: string): void {
  for (const pod of podsInStore(store, nodeName).list()) {
    const status = (pod['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
    const conditions = (status.conditions ?? []).map((one) =>
      one.type === 'Ready' ? { ...one, status: 'False' } : one,
    );
    store.put({ ...pod, status: { ...status, conditions } });
  }
}

/** The Pods of a node in the store of a simulated API server. */
export function podsInStore(store: KubeStore, nodeName: string): PodAccess {
  const isOwn = (pod: ApiObject): boolean => (pod['spec'] as { nodeName?: string } | undefined)?.nodeName === nodeName;
  return {
    list: () => store.list({ apiVersion: 'v1', kind: 'Pod' }).filter(isOwn),
    onChange: (listener) =>
      store.onChange(({ object }) => {
        if (object.kind === 'Pod' && isOwn(object)) listener();
      }),
    writeStatus: (pod, status) => void store.put({ ...pod, status }),
    remove: ({ metadata: { name, namespace, finalizers = [] } }) => {
      if (finalizers.length === 0)
        store.remove({ apiVersion: 'v1', kind: 'Pod', name, ...(namespace ? { namespace } : {}) });
    },
  };
}
