import type { ControlPlane } from '../shared/control-planes/control-plane.ts';
import { queryNode } from '../shared/control-planes/query-node.ts';
import type { EtcdReport } from './etcd-health.ts';

/** What a control plane reports of etcd, or why it does not. */
export async function readEtcdReport(
  target: ControlPlane,
): Promise<{ readonly report: EtcdReport } | { readonly problem: string }> {
  const machine = target.machine.metadata.name;
  const found = await queryNode(target, async (node) => ({
    kind: 'report' as const,
    report: { machine, ...(await node.etcdHealth(target)) },
  }));
  return found.kind === 'report' ? found : { problem: `${machine}: ${found.message}.` };
}
