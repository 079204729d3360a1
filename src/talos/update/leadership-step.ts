import { done, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { callNode } from '../join-steps.ts';
import { type UpdateStepContext, updateFacts } from './update-context.ts';

/**
 * Done when a control plane that is about to restart does not lead etcd: the others would be without a leader until they
 * have noticed its absence.
 */
export const leadershipStep: Step<UpdateStepContext> = {
  name: 'etcd-leadership-moved',
  deadlineMinutes: 10,
  isNeeded: (facts) => facts[updateFacts.disrupts] === true,
  run: async (context): Promise<StepOutcome> =>
    context.node.role === 'controlplane' ? await callNode(context, moveLeadership) : done(),
};

async function moveLeadership(client: TalosClient, options: TalosCallOptions): Promise<StepOutcome> {
  try {
    const members = await client.etcdMembers(options);
    const { memberId, leaderId } = await client.etcdStatus(options);
    // The only member cannot hand its leadership to anybody.
    if (members.length < 2 || memberId !== leaderId) return done();
    await client.forfeitLeadership(options);
    return wait(1, 'Another member of etcd takes over the leadership.');
  } catch (error) {
    // An etcd that does not run does not lead. The system may need the rest of the update to run it.
    if (error instanceof ProviderError && error.code === 'TALOS_NOT_READY') return done();
    throw error;
  }
}
