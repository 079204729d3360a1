import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  toStepReason,
} from '../../../api/conditions.ts';
import { type Machine, type MachineStatus, maxPendingFields } from '../../../api/machine.ts';
import type { AdvanceResult } from '../../../engine/advance.ts';
import { isUpdateOpen } from '../../../talos/update/update-context.ts';
import { describeStepProgress } from '../../shared/describe-step-progress.ts';
import { type ConfigurationState, classOfChange, type NodeObservation } from './observe-configuration.ts';

const maxFieldsInMessage = 5;
const maxFieldLength = 256;

/** The result of a comparison stays until the next one. */
export function configurationStatus(
  { status }: Machine,
  { configuration, running: reported }: Pick<NodeObservation, 'configuration' | 'running'>,
): Pick<MachineStatus, 'applied' | 'compared' | 'pending'> {
  if (reported) return { applied: { ...reported } };
  if (!configuration) {
    const { applied, compared, pending } = status ?? {};
    return { ...(applied && { applied }), ...(compared && { compared }), ...(pending && { pending }) };
  }
  const { revision, spec, changes, running } = configuration;
  const needs = classOfChange(configuration);
  const fields = changes.slice(0, maxPendingFields).map(({ field }) => field.slice(0, maxFieldLength));
  // The former one, so that it can be seen which revision a node had before a change.
  const applied = needs === undefined ? revision : status?.applied?.revision;
  return {
    ...comparedWith(spec ?? status?.compared),
    applied: { ...running, ...(applied !== undefined && { revision: applied }) },
    ...(needs ? { pending: { revision, class: needs, fields } } : {}),
  };
}

const comparedWith = (spec: string | undefined): Pick<MachineStatus, 'compared'> =>
  spec === undefined ? {} : { compared: spec };

/** Undefined: it was not compared, and the last result stays. */
export function describeUpToDate(
  machine: Machine,
  verdict: AdvanceResult,
  { configuration, running }: Pick<NodeObservation, 'configuration' | 'running'>,
): ConditionState | undefined {
  if (running)
    return conditionUnknown('UpToDate', 'ManagedByOthers', 'Others manage the node, and know what it is to be.');
  if (verdict.kind !== 'finished' && isUpdateOpen(verdict.progress)) return describeUpdate(machine, verdict);
  if (!configuration) return undefined;
  const needs = classOfChange(configuration);
  if (!needs) return configuration.spec === undefined ? undefined : conditionTrue('UpToDate');
  const differs = describeDifference(machine, configuration);
  const isReleased = machine.spec.revision === configuration.revision;
  if (needs === 'refused')
    return conditionFalse('UpToDate', 'ChangeRefused', `${differs} ${remedyOf(configuration)}`.trim());
  if (needs === 'replace')
    return conditionFalse('UpToDate', 'ReplacementRequired', `${differs} ${describeReplacement(isReleased)}`);
  const doing = isReleased ? 'The update begins.' : 'It is updated when its turn in the cluster comes.';
  return conditionFalse('UpToDate', 'UpdatePending', `${differs} ${doing}`);
}

/** The steps look themselves how the node differs, so the last comparison describes it. */
function describeUpdate(machine: Machine, verdict: Exclude<AdvanceResult, { kind: 'finished' }>): ConditionState {
  const { applied, pending } = machine.status ?? {};
  const changes = (pending?.fields ?? []).map((field) => ({ field }));
  const differs = applied && pending ? `${describeDifference(machine, { running: applied, changes })} ` : '';
  const message = `${differs}${describeStepProgress(verdict) ?? ''}`.trim();
  return conditionFalse('UpToDate', updateReasonOf(verdict), message);
}

function updateReasonOf(verdict: Exclude<AdvanceResult, { kind: 'finished' }>): ConditionState['reason'] {
  if (verdict.kind === 'error') return 'UpdateFailed';
  if (verdict.kind === 'failed') return verdict.reason === 'UpgradeFellBack' ? 'UpgradeFellBack' : 'UpdateFailed';
  if (verdict.reason !== undefined) return toStepReason(verdict.reason);
  // A node that does not come back stops the rollout like one that refuses.
  return verdict.overdue ? 'UpdateFailed' : 'Updating';
}

interface Difference {
  readonly running: { readonly talosVersion?: string | undefined; readonly schematic?: string | undefined };
  readonly changes: readonly { readonly field: string }[];
}

const systemFields = ['talos.version', 'talos.schematic'];
/** They follow from no ProviderConfig. */
const authorityFields = /^(machine|cluster)\.(ca|acceptedCAs)(\.|$)/;

/** `Runs Talos 1.13.7 and is to run 1.13.9. Differs from its ProviderConfig in machine.time.` */
function describeDifference({ spec }: Machine, { running, changes }: Difference): string {
  const has = (name: string): boolean => changes.some(({ field }) => field === name);
  const listed = changes.map(({ field }) => field).filter((field) => !systemFields.includes(field));
  const fields = listed.filter((field) => !authorityFields.test(field));
  const named = fields.slice(0, maxFieldsInMessage);
  const more = fields.length > named.length ? ` and ${fields.length - named.length} more` : '';
  const sentences = [
    ...(has('talos.version') ? [`Runs Talos ${running.talosVersion} and is to run ${spec.talosVersion}.`] : []),
    ...(has('talos.schematic')
      ? ['Runs a boot image with other extensions or kernel arguments than talos.extensions and talos.kernelArguments.']
      : []),
    ...(fields.length < listed.length
      ? ['Does not have the certificate authorities of this step of their rotation yet.']
      : []),
    ...(named.length > 0 ? [`Differs from its ProviderConfig in ${named.join(', ')}${more}.`] : []),
  ];
  return sentences.join(' ');
}

const describeReplacement = (isReleased: boolean): string =>
  isReleased
    ? 'Another machine takes its place.'
    : 'The change needs another machine, which takes its place when its turn in the cluster comes.';

const remedyOf = ({ rejection }: ConfigurationState): string => rejection ?? 'The change cannot be made. Take it back.';
