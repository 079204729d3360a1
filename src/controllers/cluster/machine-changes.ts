import { isDeepStrictEqual } from 'node:util';
import type { Machine } from '../../api/machine.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import type { Services } from '../shared/services.ts';

/**
 * Whether only the position within the steps of an update has changed. A Cluster decides the same after it, and asks its
 * API server in each reconcile.
 */
export function isStepOfUpdate({ kind, object, before }: ObjectChange<Machine>): boolean {
  if (kind !== 'updated' || !before) return false;
  if (object.status?.progress?.plan !== 'update' || before.status?.progress?.plan !== 'update') return false;
  return isDeepStrictEqual(withoutPosition(object), withoutPosition(before));
}

const withoutPosition = ({ metadata, spec, status }: Machine): unknown => {
  const {
    resourceVersion: _,
    managedFields: __,
    ...rest
  } = metadata as Machine['metadata'] & { managedFields?: unknown };
  const { progress, message: ___, ...known } = status ?? { conditions: [] };
  return { metadata: rest, spec, status: known, failures: progress?.failures };
};

/** Whether a changed Node has a Machine. One without may have to be removed; `undefined`: the change is of no Node. */
export const hasMachine = (
  stores: { readonly machines: Pick<Services['stores']['machines'], 'get'> },
  node: string | undefined,
): boolean => node !== undefined && stores.machines.get({ name: node }) !== undefined;
