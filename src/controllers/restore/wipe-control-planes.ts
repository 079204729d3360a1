import type { Machine } from '../../api/machine.ts';
import type { ReconcileContext } from '../../kube/controller/controller.ts';
import { clusterIdentityOf } from '../cluster/view.ts';
import { controlPlaneOf } from '../shared/control-planes/control-plane.ts';
import { queryNode } from '../shared/control-planes/query-node.ts';
import type { Services } from '../shared/services.ts';
import type { RunningRestore } from './running-restore.ts';
import { writeRestoreRecord } from './write-restore-record.ts';

/** Records the boots, and then wipes the data of these control planes, all at the same time. Returns what is waited for. */
export async function wipeControlPlanes(
  services: Services,
  { cluster, record, secret }: RunningRestore,
  machines: readonly Machine[],
  boots: Readonly<Record<string, string>>,
  { signal, log }: ReconcileContext,
): Promise<string> {
  await writeRestoreRecord(services, secret, { ...record, wipes: { ...record.wipes, ...boots } }, signal);
  const due = machines.filter(({ metadata }) => boots[metadata.name] !== undefined);
  const results = await Promise.all(
    due.map(async (machine) => {
      const { name } = machine.metadata;
      const failed = await queryNode(
        controlPlaneOf(services, clusterIdentityOf(cluster), machine, signal),
        async (node) => {
          // Another boot than the one that was observed: it is observed again.
          if ((await node.bootId({ signal })) !== boots[name]) return undefined;
          await node.reset({ graceful: false, reboot: true, wipe: 'data' }, { signal });
          return undefined;
        },
      );
      log.info({ machine: name, problem: failed?.message }, 'the data of a control plane are wiped');
      return failed ? `${name}: ${failed.message}.` : name;
    }),
  );
  return `The data are being wiped: ${results.join(', ')}`;
}
