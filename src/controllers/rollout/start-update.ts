import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { Machine, maxPendingFields } from '../../api/machine.ts';
import type { WorkloadCheck } from '../../api/schema/rollout-schema.ts';
import type { Log } from '../../lib/log.ts';
import { mayRestartApiServer } from '../../talos/config/compare/change-class.ts';
import { type ControlPlane, controlPlaneOf } from '../shared/control-planes/control-plane.ts';
import { findApiServerProblem, isServing } from '../shared/control-planes/health-problems.ts';
import type { Services } from '../shared/services.ts';
import { type RolloutDecision, revisionToRelease } from './decide-rollout.ts';
import { type EtcdReport, findEtcdLeader, findEtcdProblem } from './etcd-health.ts';
import { isInHand, isReady } from './machine-change.ts';
import { orderMachines } from './order-machines.ts';
import { rolloutTurnsOf, type TurnRequest } from './policy/rollout-turns.ts';
import { readEtcdReport } from './read-etcd-report.ts';
import { findWorkloadProblemOf } from './workload-checks.ts';

interface StartContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** The cluster of which a Machine is to be changed. */
export interface StartRequest extends TurnRequest {
  readonly ref: ClusterIdentity;
  readonly machines: readonly Machine[];
  /** What users want to see in order before the next machine is changed. */
  readonly healthChecks: readonly WorkloadCheck[];
}

/** Why no Machine was released. */
export interface StartObstacle {
  readonly message: string;
  /** Other clusters come first. */
  readonly isTurn: boolean;
  /** How many clusters have waited for their turn for longer. */
  readonly waitingBefore?: number;
}

type UpdateDecision = Extract<RolloutDecision, { kind: 'update' }>;

/**
 * Releases one Machine to its desired state, if the cluster is healthy just now and no other cluster of the ProviderConfig
 * comes first. A Machine that is being changed already is released to what it is to become now: it may not be left halfway.
 * Returns the Machine after the write, or why it has to wait.
 */
export async function startUpdate(
  services: Services,
  request: StartRequest,
  { candidates, isResumed }: UpdateDecision,
  context: StartContext,
): Promise<{ readonly machine: Machine } | StartObstacle> {
  const [first] = candidates;
  if (!first) return { message: 'No machine is to be changed.', isTurn: false };
  if (isResumed) return { machine: await release(services, first, request, context) };
  const turns = rolloutTurnsOf(services);
  const wait = (message: string): StartObstacle => ({
    message,
    isTurn: true,
    waitingBefore: turns.countBefore(request),
  });
  const earlier = turns.findEarlier(services, request);
  if (earlier !== undefined) return wait(earlier);
  const found = await checkCluster(services, request, candidates, context.signal);
  if ('problem' in found) return { message: found.problem, isTurn: false };
  // Another cluster may have been faster meanwhile.
  const used = await turns.use(services, request, found.machine, () =>
    release(services, found.machine, request, context),
  );
  return typeof used === 'string' ? wait(used) : { machine: used };
}

async function release(
  { kube }: Services,
  machine: Machine,
  { revision: releasedFor }: StartRequest,
  { signal, log }: StartContext,
): Promise<Machine> {
  const { name, resourceVersion } = machine.metadata;
  const revision = revisionToRelease(machine);
  const lock = resourceVersion ? { resourceVersion } : {};
  const updated = await kube.merge(Machine, { name }, { spec: { revision, releasedFor } }, lock, signal);
  log.info({ machine: name, revision, class: machine.status?.pending?.class }, 'update of a machine begins');
  return updated;
}

/** Asks every control plane and the Nodes, and chooses among the candidates the one that does not lead etcd. */
async function checkCluster(
  services: Services,
  { ref: cluster, machines, cluster: object, healthChecks }: StartRequest,
  candidates: readonly Machine[],
  signal: AbortSignal,
): Promise<{ readonly machine: Machine } | { readonly problem: string }> {
  const lost = machines.find(
    (machine) => isReady(machine) && !isInHand(machine) && !services.nodes.isReady(cluster, machine.metadata.name),
  );
  if (lost) return { problem: `The Node ${lost.metadata.name} is not Ready.` };
  const controlPlanes = machines.filter(({ spec }) => spec.role === 'controlplane');
  // One that is not ready is only changed itself: the others have to be well without it.
  const asked = controlPlanes.filter(isReady).map((machine) => controlPlaneOf(services, cluster, machine, signal));
  const isGentle = candidates.every(leavesApiServers);
  const expected = controlPlanes.map(({ metadata }) => metadata.name);
  const reports: EtcdReport[] = [];
  for (const answer of await Promise.all(asked.map((target) => askControlPlane(target, expected, isGentle)))) {
    if ('problem' in answer) return answer;
    reports.push(answer.report);
  }
  const problem = findEtcdProblem(reports, expected);
  if (problem !== undefined) return { problem };
  const unavailable = await findWorkloadProblemOf(
    services,
    { cluster: object, ref: cluster, checks: healthChecks },
    signal,
  );
  if (unavailable !== undefined) return { problem: unavailable };
  const [machine] = orderMachines(candidates, { pools: [], leader: findEtcdLeader(reports) });
  return machine ? { machine } : { problem: 'No machine is to be changed.' };
}

/** Its change restarts neither its node nor an API server. */
function leavesApiServers({ status }: Machine): boolean {
  const { class: kind, fields = [] } = status?.pending ?? {};
  return kind === 'live' && fields.length < maxPendingFields && !fields.some(mayRestartApiServer);
}

/** `isGentle`: no API server is going to restart, so it is sufficient that this one serves now. */
async function askControlPlane(
  target: ControlPlane,
  expected: readonly string[],
  isGentle: boolean,
): Promise<{ readonly report: EtcdReport } | { readonly problem: string }> {
  const found = await readEtcdReport(target);
  if ('problem' in found) return found;
  // An API server without etcd does not serve either, and etcd is the reason.
  const problem = findEtcdProblem([found.report], expected);
  if (problem !== undefined) return { problem };
  if (isGentle && (await isServing(target))) return found;
  const why = await findApiServerProblem(target);
  return why === undefined ? found : { problem: `${target.machine.metadata.name}: ${why}.` };
}
