import type { Machine } from '../../../api/machine.ts';
import { isRestartDone, type RestartRequest, restartRequestedReason } from '../../../engine/capabilities/repair.ts';
import type { Drift } from '../../../engine/observation.ts';
import type { Facts } from '../../../engine/step.ts';
import type { MachineObservation } from '../observe-machine.ts';

/** The restart that the Cluster asks for and that was not done yet. */
export function findOpenRestart({ spec }: Pick<Machine, 'spec'>, facts: Facts = {}): RestartRequest | undefined {
  const { remediation } = spec;
  return remediation?.action === 'Restart' && !isRestartDone(remediation, facts) ? remediation : undefined;
}

/** A requested restart as drift that is repaired by it, while the node is unhealthy and nothing stands against it. */
export function withRequestedRestart(
  machine: Pick<Machine, 'spec'>,
  facts: Facts,
  observation: MachineObservation,
): MachineObservation {
  const { nodeHealth, drift } = observation;
  if (!findOpenRestart(machine, facts) || nodeHealth?.status !== 'False') return observation;
  const restart: Drift = {
    reason: restartRequestedReason,
    message: `The node is unhealthy. ${nodeHealth.message ?? ''}`.trim(),
    repair: { mode: 'automatic', effect: 'its machine is restarted' },
  };
  return { ...observation, drift: [...drift, restart] };
}
