import type { ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import type { Services } from '../shared/services.ts';
import { readDesiredMachine } from './reconcile/desired.ts';
import type { MachineReconcileContext } from './reconcile/machine-task.ts';
import { observeDesiredMachine } from './reconcile/observed.ts';
import { planMachine } from './reconcile/plan.ts';
import { reportMachine } from './reconcile/report.ts';
import { walkMachine } from './reconcile/walk.ts';

/** Provisions, maintains or releases one Machine: desired → observed → plan → walk → report. */
export async function reconcileMachine(
  services: Services,
  key: ObjectKey,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const desired = await readDesiredMachine(services, key, context);
  if (!desired) return {};
  try {
    let observed = await observeDesiredMachine(desired);
    let plan = planMachine(desired, observed);
    // Twice at most: a Machine that has just been provisioned may need a repair.
    while (plan.kind === 'walk') {
      observed = await walkMachine(desired, observed, plan);
      plan = planMachine(desired, observed);
    }
    return await reportMachine(desired, observed, plan);
  } finally {
    await desired.nodes.close();
  }
}
