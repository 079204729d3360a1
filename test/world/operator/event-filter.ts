import { openmcpKeys } from '../../../src/api/names.ts';
import type { ObjectChange } from '../../../src/kube/reflector/object-store.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';

const operationOf = (object: KubeObject | undefined) => object?.metadata.annotations?.[openmcpKeys.operation];

/** Never while the annotation is `ignore`. */
export const isIgnoredByOperation = (object: KubeObject): boolean => operationOf(object) === 'ignore';

/**
 * The event filter of openMCP controllers. It passes creation, deletion, a changed generation (also by a deletion), the
 * operation annotation `reconcile`, and the removal of `ignore`. A change of only status or labels does not pass.
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
