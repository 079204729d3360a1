import { evictionSchema } from '../builtin/resources.ts';
import { conditionOf, disruptionCondition, type PodDisruptionBudget, selectsPod } from '../controllers/budgets.ts';
import { ApiError, badRequestError, forbiddenError, notFoundError } from '../errors.ts';
import { asArray, asObject, asText, clone, type JsonObject } from '../json.ts';
import { isDryRun, type RequestContext } from '../request/context.ts';
import { decodeTyped } from '../schema/decode-typed.ts';
import { checkPreconditions, deleteObject, parseDeleteOptions } from './delete-object.ts';
import { type ApiObject, nowSeconds } from './store.ts';
import type { ObjectTarget } from './write-object.ts';

const budgetTable = 'policy/poddisruptionbudgets';
const budgetNames = { group: 'policy', plural: 'poddisruptionbudget', kind: 'PodDisruptionBudget' };

/**
 * POST …/pods/NAME/eviction (kubernetes: pkg/registry/core/pod/storage/eviction.go). Conflicts do not occur: a request
 * is atomic here.
 */
export function evictPod(context: RequestContext, target: ObjectTarget, body: JsonObject): JsonObject {
  const eviction = decodeEviction(body);
  const { name, namespace } = target;
  if (asText(asObject(eviction['metadata'])['name']) !== name)
    throw badRequestError('name in URL does not match name in Eviction object');
  const pod = context.storage.read('pods', namespace, name);
  if (!pod) throw notFoundError(target.resource, name);
  const options = parseDeleteOptions(context, asObject(eviction['deleteOptions']));
  const dryRun = options.dryRun || isDryRun(context);
  if (!needsNoBudget(pod)) spendBudget(context, pod, dryRun);
  checkPreconditions(target, pod, options);
  if (!dryRun) context.storage.write('pods', withDisruptionTarget(pod));
  deleteObject(context, { ...target, subresource: '' }, { ...options, dryRun });
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
}

function decodeEviction(body: JsonObject): JsonObject {
  const version = asText(body['apiVersion']);
  if (asText(body['kind']) !== 'Eviction' || !['policy/v1', 'policy/v1beta1'].includes(version))
    throw badRequestError(
      `the API version in the data (${version}) does not match the expected API version (policy/v1)`,
    );
  return decodeTyped(evictionSchema, body, 'Eviction', (problem) =>
    badRequestError(`Eviction in version "v1" cannot be handled as a Eviction: ${problem}`),
  ).object;
}

function needsNoBudget(pod: ApiObject): boolean {
  const phase = asText(asObject(pod['status'])['phase']);
  return ['Succeeded', 'Failed', 'Pending'].includes(phase) || pod.metadata.deletionTimestamp !== undefined;
}

function spendBudget(context: RequestContext, pod: ApiObject, dryRun: boolean): void {
  const { namespace } = pod.metadata;
  const budgets = context.storage.all(budgetTable, namespace).filter((one) => selectsPod(one, pod));
  const [budget, another] = budgets as PodDisruptionBudget[];
  if (!budget) return;
  if (another) {
    const several = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new ApiError(500, '', several);
  }
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  const mayGoUnready =
    budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    (currentHealthy >= desiredHealthy && desiredHealthy > 0);
  if (!isReady(pod) && mayGoUnready) return;
  const next = decrement(budget, pod.metadata.name);
  if (!dryRun) context.storage.write(budgetTable, next);
}

/** The budget after one disruption, or the error that refuses it. */
function decrement(budget: PodDisruptionBudget, podName: string): PodDisruptionBudget {
  const { name } = budget.metadata;
  const { status = {} } = budget;
  const { disruptionsAllowed = 0, disruptedPods = {} } = status;
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0))
    throw tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (disruptionsAllowed < 0) throw forbiddenError(budgetNames, name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > 2000)
    throw forbiddenError(
      budgetNames,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  if (disruptionsAllowed === 0) throw tooManyRequests(explainBudget(budget), 0);
  const next = clone(budget);
  const left = disruptionsAllowed - 1;
  next.status = {
    ...status,
    disruptionsAllowed: left,
    disruptedPods: { ...disruptedPods, [podName]: nowSeconds() },
    ...(left === 0 ? { conditions: [disruptionCondition(budget, left)] } : {}),
  };
  return next;
}

function explainBudget(budget: PodDisruptionBudget): string {
  const { name } = budget.metadata;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  const condition = conditionOf(budget);
  const isSaid = condition?.status === 'False' && condition.message !== '';
  if (isSaid && condition.reason === 'SyncFailed')
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${condition.message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  if (isSaid)
    return `The disruption budget ${name} does not allow evicting pods currently (${condition.reason}): ${condition.message}`;
  return `The disruption budget ${name} does not allow evicting pods currently`;
}

const tooManyRequests = (message: string, retryAfterSeconds: number): ApiError =>
  new ApiError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
  });

const conditionsOf = (object: ApiObject): readonly JsonObject[] =>
  asArray(asObject(object['status'])['conditions']).map(asObject);

const isReady = (pod: ApiObject): boolean =>
  conditionsOf(pod).some((one) => one['type'] === 'Ready' && one['status'] === 'True');

function withDisruptionTarget(pod: ApiObject): ApiObject {
  const next = clone(pod);
  const others = conditionsOf(pod).filter((one) => one['type'] !== 'DisruptionTarget');
  const target = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: nowSeconds(),
  };
  next['status'] = { ...asObject(next['status']), conditions: [...others, target] };
  return next;
}
