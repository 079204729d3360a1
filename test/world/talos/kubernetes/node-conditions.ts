import type { KubeStore } from '../../kube/storage/store.ts';

type Status = 'True' | 'False' | 'Unknown';

/** A condition of a Node as the kubelet writes it (core/v1 NodeCondition). */
export interface NodeCondition {
  readonly type: string;
  readonly status: Status;
  readonly reason: string;
  readonly message: string;
  readonly lastHeartbeatTime: string;
  readonly lastTransitionTime: string;
}

const noNetwork =
  'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized';
/** While the kubelet ends its pods before the machine goes down. */
export const shuttingDownMessage = 'node is shutting down';

/** Those beside `Ready` (kubernetes: pkg/kubelet/nodestatus/setters.go): True is bad, and here they never are. */
const pressures = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
] as const;

/** All conditions at a moment; those that stay as they were keep the time of their last transition. */
export function nodeConditions(ready: Status, before: readonly NodeCondition[] = [], why = noNetwork): NodeCondition[] {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const rest = pressures.map(([type, reason, message]) =>
    ready === 'Unknown' ? { type, status: ready, ...silent } : { type, status: 'False' as const, reason, message },
  );
  return [...rest, { type: 'Ready', status: ready, ...readiness(ready, why) }].map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const isSame = old?.status === condition.status;
    return {
      ...condition,
      // Whoever finds that nobody reports does not report itself.
      lastHeartbeatTime: ready === 'Unknown' ? (old?.lastHeartbeatTime ?? now) : now,
      lastTransitionTime: isSame ? old.lastTransitionTime : now,
    };
  });
}

/** What the node lifecycle controller writes for a kubelet that does not. */
const silent = { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };

function readiness(status: Status, why: string): { reason: string; message: string } {
  if (status === 'Unknown') return silent;
  if (status === 'False') return { reason: 'KubeletNotReady', message: why };
  return { reason: 'KubeletReady', message: 'kubelet is posting ready status' };
}

/** Writes what is now so of a Node; nothing when somebody has deleted it. */
export function setNodeReady(store: KubeStore, name: string, ready: Status, why?: string): void {
  const object = store.get({ apiVersion: 'v1', kind: 'Node', name });
  if (!object) return;
  const status = object['status'] as { conditions?: NodeCondition[] };
  store.put({ ...object, status: { ...status, conditions: nodeConditions(ready, status.conditions, why) } });
}

/** The report of a kubelet for which nothing has changed. */
export function renewHeartbeat(store: KubeStore, name: string): void {
  const object = store.get({ apiVersion: 'v1', kind: 'Node', name });
  if (!object) return;
  const status = object['status'] as { conditions?: NodeCondition[] };
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = (status.conditions ?? []).map((condition) => ({ ...condition, lastHeartbeatTime: now }));
  store.put({ ...object, status: { ...status, conditions } });
}
