import { type ConditionState, conditionFalse } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import {
  decideUpgrade,
  decideVersion,
  desiredVersions,
  type UpgradeDecision,
  type UpgradeView,
} from '../rollout/kubernetes/decide-upgrade.ts';
import type { KubernetesVersions } from '../rollout/kubernetes/stages.ts';
import { oldestApiServer } from '../rollout/kubernetes/versions.ts';
import { changeOf } from '../rollout/machine-change.ts';
import { findRolloutHold } from '../rollout/policy/rollout-hold.ts';
import type { ClusterView } from './view.ts';

/** The decisions about the upgrade that are executed. */
export type UpgradeAction = Extract<UpgradeDecision, { kind: 'prepare' | 'write' | 'apply-manifests' | 'record' }>;

/** `spec.kubernetes.version` without a leading `v`. */
export const readDesiredVersion = ({ cluster }: Pick<ClusterView, 'cluster'>): string | undefined =>
  cluster.spec.kubernetes?.version?.replace(/^v(?=\d)/, '');

function toUpgradeView(view: ClusterView): UpgradeView {
  const { secrets, spec, config, cluster, machines, now } = view;
  const hold = spec && findRolloutHold({ cluster, config, rollout: spec.rollout, now });
  return {
    running: secrets?.bootstrappedAt ? secrets.kubernetesVersion : undefined,
    desired: readDesiredVersion(view),
    spec: cluster.metadata.deletionTimestamp ? undefined : spec,
    machines,
    isChanging: machines.some((machine) => changeOf(machine) === 'changing'),
    isPaused: hold !== undefined,
    ...view.upgrade,
  };
}

/** What to do now for the Kubernetes version of a cluster whose API server answers. */
export function decideUpgradeAction(view: ClusterView): UpgradeAction | undefined {
  if (view.proof?.ok !== true) return undefined;
  const decision = decideUpgrade(toUpgradeView(view));
  const isAction =
    decision.kind === 'prepare' ||
    decision.kind === 'write' ||
    decision.kind === 'apply-manifests' ||
    decision.kind === 'record';
  return isAction ? decision : undefined;
}

/** Why the requested version of an existing cluster is refused. */
export function findVersionRejection(view: ClusterView): ConditionState | undefined {
  const { secrets } = view;
  const { refused } = decideVersion({ ...toUpgradeView(view), running: secrets?.kubernetesVersion, spec: view.spec });
  return refused && conditionFalse('Accepted', refused.reason, refused.message);
}

/** The versions of a new Machine: those of the cluster at this point of an upgrade. */
export function versionsOfNewMachine(view: ClusterView, role: Machine['spec']['role']): KubernetesVersions {
  const { secrets } = view;
  if (!secrets?.bootstrappedAt || !view.spec) return { kubernetesVersion: secrets?.kubernetesVersion ?? '' };
  return desiredVersions(toUpgradeView(view))({ spec: { role } });
}

/** The state of an upgrade that is not finished, for the condition UpToDate. */
export function describeUpgrade(view: ClusterView): Pick<ConditionState, 'reason' | 'message'> | undefined {
  const decision = decideUpgrade(toUpgradeView(view));
  switch (decision.kind) {
    case 'blocked':
      return { reason: decision.reason, message: decision.message };
    case 'wait':
      return { reason: 'UpdatePending', message: decision.message };
    case 'roll':
      return { reason: 'Updating', message: decision.message };
    default:
      return undefined;
  }
}

const requeueSeconds = { wait: 3, roll: 15, blocked: 30 } as const;

/** When to look at the upgrade again. Images are pulled in the background, which no event reports. */
export function secondsUntilUpgrade(view: ClusterView): number {
  if (view.proof?.ok !== true) return Number.POSITIVE_INFINITY;
  const { kind } = decideUpgrade(toUpgradeView(view));
  return kind === 'wait' || kind === 'roll' || kind === 'blocked' ? requeueSeconds[kind] : Number.POSITIVE_INFINITY;
}

/** While the control planes differ, the answer of one API server says nothing about the others. */
export function servedVersion({ proof, machines }: Pick<ClusterView, 'proof' | 'machines'>): string | undefined {
  if (!proof?.ok) return undefined;
  const { oldest, isMixed } = oldestApiServer(machines);
  return isMixed ? oldest : proof.version;
}
