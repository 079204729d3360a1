import { type ConditionState, conditionFalse, conditionTrue } from '../../../api/conditions.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
import type { AdvanceResult } from '../../../engine/advance.ts';
import { type ChangeClass, highestClass } from '../../../engine/change-class.ts';
import { describeStepProgress } from '../../shared/describe-step-progress.ts';
import type { ConfigurationState } from './observe-configuration.ts';

/** Maximum number of fields that a status names. */
const maxFields = 20;
const maxFieldsInMessage = 5;
const maxFieldLength = 256;

/** The result of a comparison stays until the next one. */
export function configurationStatus(
  { status }: Machine,
  configuration: ConfigurationState | undefined,
): Pick<MachineStatus, 'applied' | 'compared' | 'pending'> {
  if (!configuration) {
    const { applied, compared, pending } = status ?? {};
    return { ...(applied && { applied }), ...(compared && { compared }), ...(pending && { pending }) };
  }
  const { revision, spec, changes, upgrades } = configuration;
  const highest = nextClass(configuration);
  const fields = [...changes, ...upgrades].slice(0, maxFields).map(({ field }) => field.slice(0, maxFieldLength));
  return {
    compared: spec,
    ...(changes.length === 0 ? { applied: { revision } } : {}),
    ...(highest ? { pending: { revision, class: highest, fields } } : {}),
  };
}

/** Changes of the configuration that need no restart do not wait for an upgrade. */
const nextClass = ({ changes, upgrades }: ConfigurationState): ChangeClass | undefined =>
  highestClass(changes) ?? highestClass(upgrades);

/** Undefined: it was not compared, and the last result stays. */
export function describeUpToDate(
  { spec }: Machine,
  verdict: AdvanceResult,
  configuration: ConfigurationState | undefined,
): ConditionState | undefined {
  if (!configuration) return undefined;
  const highest = nextClass(configuration);
  if (!highest) return conditionTrue('UpToDate');
  const changes = [...configuration.changes, ...configuration.upgrades];
  const named = changes.slice(0, maxFieldsInMessage).map(({ field }) => field);
  const more = changes.length > named.length ? ` and ${changes.length - named.length} more` : '';
  const differs = `Differs from its ProviderConfig in ${named.join(', ')}${more}.`;
  if (highest !== 'live')
    return conditionFalse('UpToDate', unsupportedReasons[highest], `${differs} ${remedies[highest]}`);
  if (verdict.progress.plan === 'update' && verdict.kind !== 'finished') {
    // A node that does not come back must stop the rollout like one that refuses.
    const reason = verdict.kind === 'waiting' && !verdict.overdue ? 'Updating' : 'UpdateFailed';
    return conditionFalse('UpToDate', reason, `${differs} ${describeStepProgress(verdict) ?? ''}`.trim());
  }
  const doing =
    spec.revision === configuration.revision
      ? 'The update begins.'
      : 'It is updated when its turn in the cluster comes.';
  return conditionFalse('UpToDate', 'UpdatePending', `${differs} ${doing}`);
}

type UnsupportedClass = Exclude<ChangeClass, 'live'>;

const unsupportedReasons = {
  kubernetes: 'UpgradeRequired',
  restart: 'RestartRequired',
  os: 'UpgradeRequired',
  hardware: 'RestartRequired',
  replace: 'ReplacementRequired',
  refused: 'ChangeRefused',
} as const satisfies Record<UnsupportedClass, string>;

const replaceRemedy = 'This release does not do that on a running node. Delete the Machine to have it created anew.';
const remedies: Readonly<Record<UnsupportedClass, string>> = {
  restart: `The change needs a restart of the node. ${replaceRemedy}`,
  os: `The change needs an upgrade of Talos. ${replaceRemedy}`,
  kubernetes: `The change needs an upgrade of Kubernetes. ${replaceRemedy}`,
  hardware: `The machine has to be off for the change. ${replaceRemedy}`,
  replace: `The change needs another machine. ${replaceRemedy}`,
  refused: 'The change cannot be made. Take it back.',
};
