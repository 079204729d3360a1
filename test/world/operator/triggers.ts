import { openmcp } from '../../../src/api/names.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import type { Change } from '../../../src/kube/store.ts';

const operationOf = (object: KubeObject | undefined) => object?.metadata.annotations?.[openmcp.operation];

/** Never while the annotation says `ignore`. */
export const isIgnored = (object: KubeObject): boolean => operationOf(object) === 'ignore';

/**
 * The event filter of openMCP controllers: an object is looked at when it appears or goes, when its generation moves
 * (deletion moves it too), when the operation annotation becomes `reconcile`, and when `ignore` is taken off it. A
 * status or label that changes alone wakes nobody.
 */
export function isTrigger({ kind, object, before }: Change<KubeObject>): boolean {
  if (isIgnored(object) || kind === 'resync') return false;
  if (before === undefined || kind !== 'updated') return true;
  return (
    before.metadata.generation !== object.metadata.generation ||
    before.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
    (operationOf(object) === 'reconcile' && operationOf(before) !== 'reconcile') ||
    isIgnored(before)
  );
}
