import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ClusterService } from '../../../../src/talos/gen/cluster_pb.ts';
import { checkHealth } from '../health/check-health.ts';
import type { TalosNode } from '../node.ts';
import { requireControlPlane } from './machine-service.ts';

/**
 * `cluster.ClusterService`: the checks of `talosctl health`. The caller's timeout is in simulated time, like every
 * wait.
 */
export function clusterService(node: TalosNode): Partial<ServiceImpl<typeof ClusterService>> {
  return {
    async *healthCheck({ waitTimeout, clusterInfo }, { signal }) {
      requireControlPlane(node, 'cluster health check');
      const patience = node.world.clock.sleep(
        Number(waitTimeout?.seconds ?? 0n),
        AbortSignal.any([signal, node.signal]),
      );
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      patience.then(end, end);
      const asked = {
        controlPlaneNodes: clusterInfo?.controlPlaneNodes ?? [],
        workerNodes: clusterInfo?.workerNodes ?? [],
      };
      const lines = checkHealth(node, asked, () => isOver);
      for (;;) {
        const { value, done } = await lines.next();
        if (!done) yield { message: value };
        else if (value) return;
        else throw new ConnectError('context deadline exceeded', Code.DeadlineExceeded);
      }
    },
  };
}
