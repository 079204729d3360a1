import { openmcpKeys } from '../../../src/api/names.ts';
import type { ObjectChange } from '../../../src/kube/reflector/object-store.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';

const operationOf = (object: KubeObject | undefined) => object?.metadata.annotations?.[openmcpKeys.operation];

/** Never while the annotation says `ignore`. */
export const isIgnoredByOperation = (object: KubeObject): boolean => operationOf(object) === 'ignore';

/**
 * The event filter of openMCP controllers: an object is looked at when it appears or goes, when its generation moves
 * (deletion moves it too), when the operation annotation becomes `reconcile`, and when `ignore` is taken off it. A
 * status or label that changes alone wakes nobody.
 */
export function triggersReconcile({ kind, object, before }: ObjectChange<KubeObject>): boolean {
  if (isIgnoredByOperation(object) || kind === 'resync') return false;
  if (before === undefined || kind !== 'updated') return true;
  return (
    before.metadata.generation !== object.metadata.generation ||
    before.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
    (operationOf(object) === 'reconcile' && operationOf(before) !== 'reconcile') ||
    isIgnoredByOperation(before)
  );
}
