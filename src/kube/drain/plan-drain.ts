import { formatObjectKey, type ObjectKey, objectKeyOf } from '../resource.ts';
import type { Pod } from './kinds.ts';

/** What a drain does with the Pods of a Node. */
export interface DrainPlan {
  /** To be evicted. */
  readonly evict: readonly Pod[];
  /** Being deleted already. A Pod that is created anew under the same name has another UID and is listed by itself. */
  readonly ending: readonly Pod[];
  /** Pods that belong to the node: static pods and those of DaemonSets. */
  readonly staying: readonly Pod[];
}

/** A static pod that the kubelet shows on the API server. Its deletion there does not end it. */
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/**
 * The rules of `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`. `missing` has the DaemonSets that
 * do not exist any more: what is left of them is not recreated on the node and is removed.
 */
export function planDrain(pods: readonly Pod[], missing: ReadonlySet<string> = new Set()): DrainPlan {
  const staying = pods.filter((pod) => staysOnNode(pod, missing));
  const rest = pods.filter((pod) => !staying.includes(pod));
  return {
    staying,
    ending: rest.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
    evict: rest.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
  };
}

function staysOnNode(pod: Pod, missing: ReadonlySet<string>): boolean {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return true;
  // A finished Pod is removed, whoever owns it.
  if (isFinished(pod)) return false;
  const owner = daemonSetOf(pod);
  return owner !== undefined && !missing.has(formatObjectKey(owner));
}

const controllerOf = ({ metadata }: Pod) => metadata.ownerReferences?.find(({ controller }) => controller === true);

/** The DaemonSet that controls the Pod. */
export function daemonSetOf(pod: Pod): ObjectKey | undefined {
  const controller = controllerOf(pod);
  if (controller?.kind !== 'DaemonSet' || !controller.apiVersion.startsWith('apps/')) return undefined;
  return { namespace: pod.metadata.namespace, name: controller.name };
}

/** Nothing recreates it elsewhere. */
export const isUnmanaged = (pod: Pod): boolean => controllerOf(pod) === undefined;

/** All its containers have ended. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const formatPod = (pod: Pod): string => formatObjectKey(objectKeyOf(pod));
