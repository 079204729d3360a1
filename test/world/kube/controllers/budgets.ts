import { asObject } from '../json.ts';
import { matchesSelectorObject } from '../storage/selectors.ts';
import { type ApiObject, nowSeconds } from '../storage/store.ts';

/** A condition of a budget. */
export interface BudgetCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** The fields of a PodDisruptionBudget that eviction and the disruption controller share. */
export interface PodDisruptionBudget extends ApiObject {
  spec?: {
    readonly selector?: object | null;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  status?: BudgetStatus;
}

export interface BudgetStatus {
  readonly observedGeneration?: number;
  readonly disruptionsAllowed?: number;
  readonly currentHealthy?: number;
  readonly desiredHealthy?: number;
  readonly expectedPods?: number;
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly conditions?: readonly BudgetCondition[];
}

/** In policy/v1 an empty selector selects everything, and a missing one nothing. */
export function selectsPod(budget: ApiObject, pod: ApiObject): boolean {
  const selector = asObject(budget['spec'])['selector'];
  if (selector === undefined || selector === null) return false;
  return matchesSelectorObject(asObject(selector), pod.metadata.labels ?? {});
}

export const conditionOf = ({ status }: PodDisruptionBudget): BudgetCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'DisruptionAllowed');

/** The condition for a number of allowed disruptions (kubernetes: pkg/apis/policy … UpdateDisruptionAllowedCondition). */
export function disruptionCondition(budget: PodDisruptionBudget, allowed: number): BudgetCondition {
  const status = allowed > 0 ? 'True' : 'False';
  const before = conditionOf(budget);
  return {
    type: 'DisruptionAllowed',
    status,
    reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : nowSeconds(),
    observedGeneration: budget.metadata.generation ?? 0,
  };
}
