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
/** While the kubelet ends its pods before the machine stops. */
export const shuttingDownMessage = 'node is shutting down';

/**
 * The conditions besides `Ready` (kubernetes: pkg/kubelet/nodestatus/setters.go): True is a fault, and never occurs
 * here.
 */
const pressures = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
] as const;

/** All conditions at one time; unchanged conditions keep the time of their last transition. */
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
      // The node lifecycle controller keeps the kubelet's last heartbeat time.
      lastHeartbeatTime: ready === 'Unknown' ? (old?.lastHeartbeatTime ?? now) : now,
      lastTransitionTime: isSame ? old.lastTransitionTime : now,
    };
  });
}

/** The conditions that the node lifecycle controller writes for a silent kubelet. */
const silent = { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };

function readiness(status: Status, why: string): { reason: string; message: string } {
  if (status === 'Unknown') return silent;
  if (status === 'False') return { reason: 'KubeletNotReady', message: why };
  return { reason: 'KubeletReady', message: 'kubelet is posting ready status' };
}

/** Writes the conditions of a Node; does nothing after its deletion. */
export function setNodeReady(store: KubeStore, name: string, ready: Status, why?: string): void {
  const object = store.get({ apiVersion: 'v1', kind: 'Node', name });
  if (!object) return;
  const status = object['status'] as { conditions?: NodeCondition[] };
  store.put({ ...object, status: { ...status, conditions: nodeConditions(ready, status.conditions, why) } });
}

/** The report of a kubelet without changes. */
export function renewHeartbeat(store: KubeStore, name: string): void {
  const object = store.get({ apiVersion: 'v1', kind: 'Node', name });
  if (!object) return;
  const status = object['status'] as { conditions?: NodeCondition[] };
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = (status.conditions ?? []).map((condition) => ({ ...condition, lastHeartbeatTime: now }));
  store.put({ ...object, status: { ...status, conditions } });
}
