import { isConditionTrue } from '../../api/conditions.ts';
import type { Host } from '../../api/host.ts';
import type { HostState } from '../../engine/host.ts';
import { firstFalse } from '../views/cluster-health.ts';
import { shorten } from '../views/status-sources.ts';
import {
  type ExplanationJson,
  type FindingJson,
  findCause,
  guideOf,
  guideToSilence,
  type ObjectJson,
  readyCondition,
  toFinding,
} from './explanation.ts';
import { nextStepFor } from './next-steps.ts';

const stateTexts: Readonly<Record<HostState, string>> = {
  Pending: 'not usable yet',
  Available: 'free: a Machine can claim it',
  Claimed: 'held by a Machine that has not written to its disks yet',
  Provisioned: 'in use',
  Deprovisioning: 'being prepared for the next Machine',
  Maintenance: 'kept out of use by a user',
  Failed: 'not used any more until a user decides',
};

/** What a Host waits for. */
export function explainHost(host: Host): ExplanationJson {
  const { metadata, spec, status } = host;
  const object: ObjectJson = { kind: 'Host', name: metadata.name };
  const holder = status?.machineRef;
  const about = { object, is: `the server ${spec.serverID}${holder ? `, held by Machine ${holder.name}` : ''}` };
  const conditions = status?.conditions ?? [];
  if (!status || conditions.length === 0)
    return {
      ...{ ...about, state: 'not reconciled yet', isReady: false, findings: [], guide: guideToSilence },
      ...(metadata.creationTimestamp ? { since: metadata.creationTimestamp } : {}),
      nextStep: 'Check that the provider runs, has a leader, and that a ProviderConfig uses Hosts.',
    };
  const isReady = isConditionTrue(conditions, 'Ready') && !metadata.deletionTimestamp;
  const finding = findingOfHost(host, object);
  const since = metadata.deletionTimestamp ?? holder?.since ?? readyCondition(conditions)?.lastTransitionTime;
  return {
    ...about,
    state: metadata.deletionTimestamp ? 'being deleted' : stateTexts[status.state],
    isReady,
    ...(since ? { since } : {}),
    findings: finding ? [finding] : [],
    nextStep: finding ? nextStepFor(finding.reason) : 'Nothing.',
    ...(finding ? { guide: guideOf('Host') } : {}),
  };
}

/** A condition, or the task that runs: an inspection, a reboot, or the erasure after a Machine. */
function findingOfHost({ status }: Host, object: ObjectJson): FindingJson | undefined {
  const { conditions = [], task, message } = status ?? {};
  const step = task && { name: task.step, plan: task.plan, since: task.since, failures: task.failures };
  const condition = findCause(conditions) ?? firstFalse(conditions);
  if (condition) return toFinding(object, condition, step);
  return step && { object, message: shorten(message ?? ''), since: step.since, step };
}
