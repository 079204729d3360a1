import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { LossCapability } from '../../engine/capabilities/loss.ts';
import type { Platform } from '../../engine/platform.ts';
import { done, fail, type Step } from '../../engine/step.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { Services } from '../shared/services.ts';
import { approvalsOf } from './repair/approvals.ts';

/**
 * The release steps of a platform. A step that cannot prove that the machine is off names the annotation with which a
 * user confirms it. With that annotation the Machine is released and its resources are left untouched.
 */
export function withReleaseApproval(services: Services, machine: Machine, platform: Platform): Platform['release'] {
  const { release, loss } = platform;
  if (!loss?.unprovenReasons?.length) return release;
  return release.map((step) => withStepApproval(services, machine, loss, step));
}

function withStepApproval<C extends TalosStepContext>(
  { events }: Services,
  machine: Machine,
  { unprovenReasons = [], deadReasons = [] }: LossCapability,
  step: Platform['release'][number],
): Step<C> {
  const run = async (context: C) => {
    const outcome = await step.run(context);
    if (outcome.kind !== 'fail' || !unprovenReasons.includes(outcome.reason)) return outcome;
    const { reason, message } = outcome;
    const isKnownDead = machine.spec.remediation?.action === 'Replace' && deadReasons.includes(reason);
    if (!isKnownDead && !approvalsOf(machine).approved.includes(reason))
      return fail(reason, `${message} ${approvalHint(reason)}`);
    const why = isKnownDead ? 'its node is unhealthy' : 'that was approved';
    const text = `${reason}: released without cleaning up its resources, because ${why}. ${message}`;
    events.record(machine, 'Warning', isKnownDead ? 'ReleasedAsDead' : 'ReleasedAsApproved', text);
    return done({ approved: reason });
  };
  return { ...step, run };
}

const approvalHint = (reason: string): string =>
  `Once you have verified that it has stopped, set the annotation ${annotations.approve}: ${reason} on the Machine to release it.`;
