import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Cluster } from '../api/openmcp/types.ts';

/** The Cluster of the client, by its certificate. */
export const clusterKey = createContextKey<Cluster | undefined>(undefined);

export function clusterOfRequest(context: HandlerContext): Cluster {
  const cluster = context.values.get(clusterKey);
  if (cluster) return cluster;
  throw new ConnectError('The client is not known.', Code.PermissionDenied);
}
