import { asArray, asObject, clone, equal } from '../json.ts';
import type { ApiObject, ObjectStorage } from '../storage/store.ts';
import { type BudgetStatus, disruptionCondition, type PodDisruptionBudget, selectsPod } from './budgets.ts';
import { runKeyedLoop } from './loop.ts';

const table = 'policy/poddisruptionbudgets';
const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;

/** After this time an accepted eviction without a deletion no longer counts (kubernetes: DeletionTimeout). */
const deletionTimeoutSeconds = 120;

/** Writes the status of PodDisruptionBudgets (kubernetes: pkg/controller/disruption). */
export function runDisruptionController(storage: ObjectStorage): () => void {
  return runKeyedLoop(
    storage,
    ({ storage: changed, type, object }) => {
      if (changed === table) return type === 'DELETED' ? [] : [keyOf(object)];
      return changed === 'pods' ? storage.all(table, object.metadata.namespace).map(keyOf) : [];
    },
    (key) => {
      const [namespace = '', name = ''] = key.split('/');
      const budget = storage.read(table, namespace, name) as PodDisruptionBudget | undefined;
      if (!budget) return;
      const status = statusOf(storage, budget);
      if (!equal(status, budget.status)) storage.write(table, { ...clone(budget), status });
    },
    storage.all(table).map(keyOf),
  );
}

function statusOf(storage: ObjectStorage, budget: PodDisruptionBudget): BudgetStatus {
  const pods = storage.all('pods', budget.metadata.namespace).filter((pod) => selectsPod(budget, pod));
  const disruptedPods = remainingDisruptions(budget, pods);
  const currentHealthy = pods.filter((pod) => isHealthy(pod) && !(pod.metadata.name in disruptedPods)).length;
  const { expectedPods, desiredHealthy } = expectationOf(storage, budget, pods);
  const allowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  return {
    observedGeneration: budget.metadata.generation ?? 0,
    disruptionsAllowed: allowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    ...(Object.keys(disruptedPods).length > 0 ? { disruptedPods } : {}),
    conditions: [disruptionCondition(budget, allowed)],
  };
}

function remainingDisruptions(budget: PodDisruptionBudget, pods: readonly ApiObject[]): Record<string, string> {
  const isOpen = ([name, time]: [string, string]): boolean =>
    pods.some(({ metadata }) => metadata.name === name && metadata.deletionTimestamp === undefined) &&
    Date.parse(time) + deletionTimeoutSeconds * 1000 > Date.now();
  return Object.fromEntries(Object.entries(budget.status?.disruptedPods ?? {}).filter(isOpen));
}

function isHealthy(pod: ApiObject): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const conditions = asArray(asObject(pod['status'])['conditions']).map(asObject);
  return conditions.some((one) => one['type'] === 'Ready' && one['status'] === 'True');
}

function expectationOf(storage: ObjectStorage, { spec = {} }: PodDisruptionBudget, pods: readonly ApiObject[]) {
  const { minAvailable, maxUnavailable } = spec;
  if (typeof minAvailable === 'number') return { expectedPods: pods.length, desiredHealthy: minAvailable };
  const expectedPods = scaleOf(storage, pods);
  if (maxUnavailable !== undefined)
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - scaled(maxUnavailable, expectedPods)) };
  return { expectedPods, desiredHealthy: scaled(minAvailable ?? 0, expectedPods) };
}

/** Percentages are rounded up. */
const scaled = (value: number | string, total: number): number =>
  typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);

/** The sum of the replicas of the controllers of these Pods. */
function scaleOf(storage: ObjectStorage, pods: readonly ApiObject[]): number {
  const scales = new Map<string, number>();
  for (const { metadata } of pods) {
    const controller = metadata.ownerReferences?.find((owner) => owner.controller);
    if (!controller) continue;
    const owner = storage.read('apps/replicasets', metadata.namespace, controller.name);
    scales.set(controller.uid, Number(asObject(owner?.['spec'])['replicas'] ?? 0));
  }
  return [...scales.values()].reduce((sum, one) => sum + one, 0);
}
