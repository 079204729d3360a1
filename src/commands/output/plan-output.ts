import { parseAllDocuments } from 'yaml';
import type { ClusterPlan, PlannedMachine } from '../../controllers/plan/plan-cluster.ts';
import type { PlannedUpdate } from '../../controllers/plan/plan-updates.ts';
import { describeUpdate } from './describe-updates.ts';
import type { CommandOutput } from './output-schemas.ts';

type PlanOutput = CommandOutput<'plan'>;

/** A plan for programs. `made`: of one cluster, if one is planned. Machine configurations are large, so they are in it on request only. */
export function toPlanOutput(
  made: ClusterPlan | undefined,
  updates: readonly PlannedUpdate[],
  withDocuments: boolean,
): PlanOutput {
  const { machines = [], surplus = [], shared = [], left = [], endpoint, isMarked = true } = made ?? {};
  return {
    machines: machines.map((machine) => toMachineOutput(machine, withDocuments)),
    surplus: [...surplus],
    shared: shared.map(({ effect, subject }) => ({ effect, subject })),
    unassignedHosts: left.map(({ reason, names, refused }) => ({ reason, names: [...names], refused: [...refused] })),
    endpoint,
    isExact: isMarked,
    updates: updates.map((update) => {
      const { cluster, machine, effect } = update;
      return { cluster, machine, effect, subject: describeUpdate(update) };
    }),
  };
}

function toMachineOutput(
  { host: { slot, machine, host, isHeld }, error, lines, document }: PlannedMachine,
  withDocuments: boolean,
): PlanOutput['machines'][number] {
  const { name, role, pool, size, failureDomain } = slot;
  return {
    ...{ name, role, pool, size, failureDomain },
    exists: machine !== undefined,
    host: host && { name: host.name, serverID: host.spec.serverID, isHeld },
    error,
    effects: lines.map(({ effect, subject }) => ({ effect, subject })),
    documents: withDocuments && document !== undefined ? parseDocuments(document) : undefined,
  };
}

const parseDocuments = (text: string): Record<string, unknown>[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Record<string, unknown>);
