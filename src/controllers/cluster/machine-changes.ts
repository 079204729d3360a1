import { isDeepStrictEqual } from 'node:util';
import type { Machine } from '../../api/machine.ts';
import { clusterId } from '../../api/names.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import type { NodeWatchEvent } from '../shared/nodes/node-watches.ts';
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

/**
 * Whether the Cluster must look: at the loss of its API server, and at a Node with a name of its Machines but without a
 * Machine, which may have to be removed.
 */
export const concernsCluster = (
  stores: { readonly machines: Pick<Services['stores']['machines'], 'get'> },
  { cluster, node }: NodeWatchEvent,
): boolean =>
  node === undefined || (node.includes(`-${clusterId(cluster)}-`) && stores.machines.get({ name: node }) === undefined);
