import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  toStepReason,
} from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { isUpdating } from '../rollout/machine-change.ts';
import type { RemediationDecision } from './decide-remediation.ts';
import { findUnhealthy } from './unhealthy-machines.ts';

/** The condition `NodesHealthy`. `obstacle`: why a decided remediation could not begin. */
export function describeNodesHealthy(
  machines: readonly Machine[],
  decision: RemediationDecision,
  obstacle: string | undefined,
): ConditionState {
  const present = machines.filter(({ metadata }) => !metadata.deletionTimestamp);
  // A node that restarts for an update is expected to be away.
  const observed = present.filter((machine) => !isUpdating(machine));
  const unhealthy = observed.flatMap((machine) => findUnhealthy(machine) ?? []);
  const [first] = unhealthy;
  if (!first) return describeUnknown(observed) ?? conditionTrue('NodesHealthy');
  const count = `${unhealthy.length} of ${present.length} nodes ${unhealthy.length === 1 ? 'is' : 'are'} unhealthy.`;
  switch (decision.kind) {
    case 'act':
      return conditionFalse(
        'NodesHealthy',
        'RemediationPending',
        `${count} ${decision.machine.metadata.name}: ${obstacle ?? decision.message}`,
      );
    case 'wait':
      return conditionFalse(
        'NodesHealthy',
        decision.isInHand ? 'Remediating' : 'RemediationPending',
        `${count} ${decision.message}`,
      );
    case 'stop':
      return conditionFalse('NodesHealthy', 'RemediationStopped', `${count} ${decision.message}`);
    default:
      return conditionFalse(
        'NodesHealthy',
        toStepReason(first.reason),
        `${count} ${first.machine.metadata.name}: ${first.message}`,
      );
  }
}

function describeUnknown(machines: readonly Machine[]): ConditionState | undefined {
  for (const { metadata, status } of machines) {
    const state = status?.conditions?.find(({ type }) => type === 'NodeHealthy');
    if (state?.status === 'Unknown')
      return conditionUnknown('NodesHealthy', toStepReason(state.reason), `${metadata.name}: ${state.message}`);
  }
  return undefined;
}
