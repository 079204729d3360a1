import type { Condition } from '../../api/conditions.ts';
import type { Platform } from '../../engine/platform.ts';
import { shorten } from '../views/status-sources.ts';

/** The kinds that can be explained. A ProviderConfig is only the cause of something else. */
export type ExplainedKind = 'Cluster' | 'Machine' | 'Host' | 'AccessRequest' | 'ProviderConfig';

export interface ObjectJson {
  readonly kind: ExplainedKind;
  readonly namespace?: string;
  readonly name: string;
}

/** A step of a Machine, or of a task of a Host. */
export interface CurrentStepJson {
  readonly name: string;
  readonly plan: string;
  readonly since: string;
  /** Failures in a row. */
  readonly failures: number;
  /** After this many minutes in the step it is reported as overdue. */
  readonly deadlineMinutes?: number;
}

/** What one object waits for, or what is not as it should be. */
export interface FindingJson {
  readonly object: ObjectJson;
  /** Type of the condition. */
  readonly condition?: string;
  readonly reason?: string;
  readonly message: string;
  readonly since?: string;
  readonly step?: CurrentStepJson;
}

/** What an object waits for. Texts are shortened, and no field comes from a Secret. */
export interface ExplanationJson {
  readonly object: ObjectJson;
  /** What it is, as the end of a sentence, e.g. `a control plane of Cluster shop/prod`. */
  readonly is: string;
  /** Its state, as the end of a sentence, e.g. `ready` or `being created`. */
  readonly state: string;
  readonly isReady: boolean;
  /** When it came to this state. */
  readonly since?: string;
  /** From the object to the innermost cause, which is the last one. Empty: it waits for nothing. */
  readonly findings: readonly FindingJson[];
  /** A sentence. */
  readonly nextStep: string;
  /** Section of the documentation. Absent: there is nothing to look up. */
  readonly guide?: string;
}

/** The platforms tell how long a step may take. */
export interface ExplainSources {
  readonly platforms: readonly Platform[];
}

export const readyCondition = (conditions: readonly Condition[] | undefined): Condition | undefined =>
  conditions?.find(({ type }) => type === 'Ready');

/** The condition that `Ready` repeats; `Ready` itself if it repeats none. Undefined: the object is ready, or has none. */
export function findCause(conditions: readonly Condition[] = []): Condition | undefined {
  const ready = readyCondition(conditions);
  if (ready?.status === 'True') return undefined;
  const others = conditions.filter(({ type, status }) => type !== 'Ready' && status !== 'True');
  if (!ready) return others.find(({ status }) => status === 'False');
  return others.find(({ reason, message }) => reason === ready.reason && message === ready.message) ?? ready;
}

export const toFinding = (object: ObjectJson, condition: Condition, step?: CurrentStepJson): FindingJson => ({
  object,
  condition: condition.type,
  reason: condition.reason,
  message: shorten(condition.message),
  since: condition.lastTransitionTime,
  ...(step ? { step } : {}),
});

/** The section of the guide about a kind. */
export const guideOf = (kind: ExplainedKind): string => `docs/troubleshoot.md#${kind.toLowerCase()}`;
/** The section about objects that are not reconciled. */
export const guideToSilence = 'docs/troubleshoot.md#nothing-happens';
/** The section about etcd without a quorum. */
export const guideToRestore = 'docs/operate.md#etcd-lost-its-quorum';
