import { asObject, clone } from '../json.ts';
import type { ApiObject } from './store.ts';

/**
 * The next state of a Pod whose node has to end it first; undefined when it can be removed at once. A second deletion
 * can only shorten the period (apiserver: pkg/registry/rest/delete.go, kubernetes: pkg/registry/core/pod/strategy.go).
 */
export function startGracefulDeletion(pod: ApiObject, asked: number | undefined): ApiObject | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds: known } = pod.metadata;
  if (deletionTimestamp !== undefined) {
    if (known === undefined || known === 0) return undefined;
    if (asked === undefined || asked >= known) return pod;
    const begin = Date.parse(deletionTimestamp) - known * 1000;
    return asked === 0 ? undefined : withPeriod(pod, asked, Math.max(Date.now(), begin + asked * 1000));
  }
  const period = periodOf(pod, asked);
  return period === 0 ? undefined : withPeriod(pod, period, Date.now() + period * 1000);
}

function periodOf(pod: ApiObject, asked: number | undefined): number {
  const { nodeName, terminationGracePeriodSeconds } = asObject(pod['spec']);
  const { phase } = asObject(pod['status']);
  if (!nodeName || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = asked ?? (typeof terminationGracePeriodSeconds === 'number' ? terminationGracePeriodSeconds : 0);
  return period < 0 ? 1 : period;
}

function withPeriod(pod: ApiObject, seconds: number, end: number): ApiObject {
  const next = clone(pod);
  if (next.metadata.deletionTimestamp === undefined && next.metadata.generation !== undefined)
    next.metadata.generation += 1;
  next.metadata.deletionTimestamp = `${new Date(end).toISOString().slice(0, 19)}Z`;
  next.metadata.deletionGracePeriodSeconds = seconds;
  return next;
}
