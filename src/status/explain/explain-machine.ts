import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { joinSteps } from '../../talos/join-steps.ts';
import { updateStepsOf } from '../../talos/update/update-steps.ts';
import { firstFalse } from '../views/cluster-health.ts';
import {
  type CurrentStepJson,
  type ExplainSources,
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

export const machineRef = ({ metadata }: Machine): ObjectJson => ({ kind: 'Machine', name: metadata.name });

/** What a Machine waits for. */
export function explainMachine(sources: ExplainSources, machine: Machine): ExplanationJson {
  const { metadata, spec, status } = machine;
  const { namespace, name } = spec.clusterRef;
  const role = spec.role === 'controlplane' ? 'a control plane' : 'a worker';
  const object = machineRef(machine);
  const about = { object, is: `${role} of Cluster ${namespace}/${name}` };
  const isReady = isConditionTrue(status?.conditions, 'Ready') && !metadata.deletionTimestamp;
  const finding = findingOfMachine(sources, machine);
  if (!status?.conditions?.length)
    return {
      ...{ ...about, isReady: false, findings: [], guide: guideToSilence },
      state: 'not reconciled yet',
      ...(metadata.creationTimestamp ? { since: metadata.creationTimestamp } : {}),
      nextStep: 'Check that the provider runs and has a leader.',
    };
  const since = metadata.deletionTimestamp ?? readyCondition(status.conditions)?.lastTransitionTime;
  return {
    ...about,
    state: describeState(machine, isReady),
    isReady,
    ...(since ? { since } : {}),
    findings: finding ? [finding] : [],
    nextStep: finding ? nextStepFor(finding.reason) : 'Nothing.',
    ...(finding ? { guide: guideOf('Machine') } : {}),
  };
}

const stateTexts: Readonly<Record<string, string>> = {
  Provisioning: 'being created',
  Updating: 'being changed',
  Degraded: 'not as it should be',
  Releasing: 'being deleted',
  Failed: 'stopped until a user acts',
};

function describeState({ metadata, status }: Machine, isReady: boolean): string {
  const phase = status?.phase ?? '';
  if (metadata.deletionTimestamp && phase !== 'Failed') return 'being deleted';
  if (isReady) return 'ready';
  return stateTexts[phase] ?? 'not ready';
}

/** What the Machine waits for, with its current step; undefined if nothing. */
export function findingOfMachine(sources: ExplainSources, machine: Machine): FindingJson | undefined {
  const { status } = machine;
  const conditions = status?.conditions ?? [];
  const condition = findCause(conditions) ?? firstFalse(conditions) ?? findPendingChange(machine);
  if (!condition) return undefined;
  const step = currentStep(sources, machine);
  const finding = toFinding(machineRef(machine), condition, step);
  const prefix = `${step?.name}: `;
  return finding.message.startsWith(prefix) ? { ...finding, message: finding.message.slice(prefix.length) } : finding;
}

/** A rollout goes as planned, and the user who asks why a change is not there wants to know. */
const findPendingChange = ({ status }: Machine) =>
  status?.conditions?.find(({ type, status: state }) => type === 'UpToDate' && state === 'False');

function currentStep(sources: ExplainSources, machine: Machine): CurrentStepJson | undefined {
  const { progress } = machine.status ?? {};
  if (!progress || progress.step === '' || progress.finishedAt) return undefined;
  const { plan, step: name, since, failures } = progress;
  const deadlineMinutes = findStep(sources, machine, plan, name)?.deadlineMinutes;
  return { name, plan, since, failures, ...(deadlineMinutes === undefined ? {} : { deadlineMinutes }) };
}

type TimedStep = { readonly name: string; readonly deadlineMinutes?: number };

function findStep({ platforms }: ExplainSources, machine: Machine, plan: string, name: string): TimedStep | undefined {
  const platform = platforms.find((one) => one.name === machine.spec.platform);
  if (!platform) return undefined;
  const plans: Readonly<Record<string, readonly TimedStep[]>> = {
    provision: [...platform.provision, ...joinSteps, ...platform.postJoin],
    release: platform.release,
    repair: platform.repair?.steps ?? [],
    update: updateStepsOf(platform.hardware),
  };
  return plans[plan]?.find((step) => step.name === name);
}
