import type { ConditionState } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { Log } from '../../lib/log.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { ClusterView } from '../cluster/view.ts';
import type { EtcdReport } from '../rollout/etcd-health.ts';
import { isInHand } from '../rollout/machine-change.ts';
import { readEtcdReport } from '../rollout/read-etcd-report.ts';
import { controlPlaneOf } from '../shared/control-planes/control-plane.ts';
import { queryNode } from '../shared/control-planes/query-node.ts';
import type { Services } from '../shared/services.ts';
import { decideEtcdMaintenance, describeEtcdSpace, type EtcdMaintenance } from './decide-maintenance.ts';
import { etcdQuotaOf } from './etcd-quota.ts';
import { maintenanceScheduleOf } from './maintenance-schedule.ts';

interface MaintenanceContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** A user asks for a reconcile: the look is due. */
  readonly isRequested?: boolean;
}

/** What a look at the databases has found, and when the next one is due. */
interface MaintenanceResult {
  readonly state: ConditionState | undefined;
  readonly seconds: number;
}

/**
 * Looks at the databases of etcd if that is due, defragments one of them if it pays, and disarms the alarm of a database
 * that has space again. Nothing is done while a control plane is changed, or does not answer.
 */
export async function maintainEtcd(
  services: Services,
  view: ClusterView,
  context: MaintenanceContext,
): Promise<MaintenanceResult> {
  const { ref, spec, secrets, cluster } = view;
  if (!spec || !secrets?.bootstrappedAt || cluster.metadata.deletionTimestamp || view.isRestoring)
    return { state: undefined, seconds: Number.POSITIVE_INFINITY };
  const schedule = maintenanceScheduleOf(services);
  const seconds = schedule.secondsUntilLook(ref.uid);
  if (seconds > 0 && !context.isRequested) return { state: undefined, seconds };
  const controlPlanes = view.machines.filter((one) => one.spec.role === 'controlplane');
  const reports = await readReports(services, view, controlPlanes, context.signal);
  const found = {
    reports,
    expected: controlPlanes.map(({ metadata }) => metadata.name),
    quotaBytes: etcdQuotaOf(spec),
  };
  const state = describeEtcdSpace(found);
  const work = controlPlanes.every(isSettled) ? decideEtcdMaintenance(found) : { kind: 'none' as const };
  await carryOut(services, view, controlPlanes, work, context);
  return { state, seconds: schedule.finish(ref.uid, work.kind !== 'none' || state?.status === 'False') };
}

const isSettled = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && machine.spec.remediation === undefined && !isInHand(machine);

async function readReports(
  services: Services,
  { ref }: ClusterView,
  controlPlanes: readonly Machine[],
  signal: AbortSignal,
): Promise<EtcdReport[]> {
  const targets = controlPlanes.map((machine) => controlPlaneOf(services, ref, machine, signal));
  const answers = await Promise.all(targets.map(readEtcdReport));
  return answers.flatMap((answer) => ('report' in answer ? [answer.report] : []));
}

async function carryOut(
  services: Services,
  { ref, cluster }: ClusterView,
  controlPlanes: readonly Machine[],
  work: EtcdMaintenance,
  { signal, log }: MaintenanceContext,
): Promise<void> {
  if (work.kind === 'none') return;
  const machine =
    'machine' in work ? controlPlanes.find(({ metadata }) => metadata.name === work.machine) : controlPlanes[0];
  if (!machine) return;
  const target = controlPlaneOf(services, ref, machine, signal);
  const failed = await queryNode(target, async (node) => {
    await perform(node, work, signal);
    return undefined;
  });
  const { name } = machine.metadata;
  if (failed) {
    log.info({ machine: name, work: work.kind, problem: failed.message }, 'etcd could not be maintained');
    return;
  }
  log.info({ machine: name, work: work.kind }, 'etcd is maintained');
  if (work.kind === 'defragment') {
    const message = `The database of etcd on ${name} was defragmented: ${Math.round(work.bytes / 2 ** 20)} MiB were free in it.`;
    services.events.record(cluster, 'Normal', 'EtcdDefragmented', message);
  }
  if (work.kind === 'disarm')
    services.events.record(cluster, 'Normal', 'EtcdDisarmed', 'etcd has space again, and accepts writes.');
}

async function perform(node: TalosClient, { kind }: EtcdMaintenance, signal: AbortSignal): Promise<void> {
  if (kind === 'move-leader') await node.forfeitLeadership({ signal });
  if (kind === 'defragment') await node.defragmentEtcd({ signal });
  if (kind === 'disarm') await node.disarmEtcdAlarms({ signal });
}
