import type { ApiObject, KubeStore } from '../../kube/storage/store.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { readEphemeral } from './etcd.ts';
import { isApiServed } from './heartbeat.ts';

/** Marks a cordon of Talos itself; a foreign one stays (talos: controllers/k8s/node_apply.go). */
const ownCordon = 'talos.dev/cordoned';

/** Cordons the Node before it goes down, if there is an API server. */
export function cordonNode(node: TalosNode): boolean {
  const found = findNode(node);
  if (!found) return false;
  const { store, object } = found;
  if (specOf(object)['unschedulable'] === true) return true;
  const annotations = { ...object.metadata.annotations, [ownCordon]: 'true' };
  const spec = { ...specOf(object), unschedulable: true };
  store.put({ ...object, metadata: { ...object.metadata, annotations }, spec });
  return true;
}

/** After the boot. */
export function liftCordon(node: TalosNode): void {
  const found = findNode(node);
  const { [ownCordon]: mark, ...annotations } = found?.object.metadata.annotations ?? {};
  if (!found || mark === undefined) return;
  const { unschedulable: _lifted, ...spec } = specOf(found.object);
  found.store.put({ ...found.object, metadata: { ...found.object.metadata, annotations }, spec });
}

/**
 * The drain of Talos: pods of controllers leave, except those of DaemonSets; budgets only delay it, and are not simulated
 * (talos: pkg/kubernetes/kubernetes.go). Throws when the Node cannot be cordoned.
 */
export async function cordonAndDrain(node: TalosNode, sleep: (seconds: number) => Promise<void>): Promise<void> {
  for (let waited = 0; !cordonNode(node); waited += timings.poll) {
    if (waited >= timings.cordon)
      throw new Error('failed to wait for the node to be cordoned: context deadline exceeded');
    await sleep(timings.poll);
  }
  const store = findNode(node)?.store;
  for (const { kind, metadata, ...pod } of store?.list({ apiVersion: 'v1', kind: 'Pod' }) ?? []) {
    const owners = (metadata['ownerReferences'] ?? []) as { kind: string; controller?: boolean }[];
    const owner = owners.find(({ controller }) => controller === true);
    if (owner === undefined || owner.kind === 'DaemonSet' || specOf(pod)['nodeName'] !== node.nodename) continue;
    const { name, namespace } = metadata;
    store?.remove({ apiVersion: 'v1', kind, name, ...(namespace ? { namespace } : {}) });
  }
}

function findNode(node: TalosNode): { store: KubeStore; object: ApiObject } | undefined {
  const cluster = node.world.etcdClusters.get(readEphemeral(node).kubelet?.cluster ?? '');
  if (!cluster || !isApiServed(node.world, cluster)) return undefined;
  const object = cluster.store.get({ apiVersion: 'v1', kind: 'Node', name: node.nodename });
  return object && { store: cluster.store, object };
}

const specOf = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  (object['spec'] ?? {}) as Record<string, unknown>;
