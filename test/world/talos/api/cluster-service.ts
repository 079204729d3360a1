import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ClusterService } from '../../../../src/talos/gen/cluster_pb.ts';
import { checkHealth } from '../health/check-health.ts';
import type { TalosNode } from '../node.ts';
import { requireControlPlane } from './machine-service.ts';

/** `cluster.ClusterService`: what `talosctl health` asks. The patience of the caller is in the world's time, as all waiting is. */
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
