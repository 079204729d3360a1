import { createHash } from 'node:crypto';
import { asArray, asObject, canonicalJson, clone, equal, type JsonObject } from '../json.ts';
import { deleteStored } from '../storage/delete-object.ts';
import { matchesSelectorObject } from '../storage/selectors.ts';
import { type ApiObject, nowSeconds, type ObjectStorage } from '../storage/store.ts';
import { randomSuffix } from '../validation/names.ts';
import { runKeyedLoop } from './loop.ts';

const deployments = 'apps/deployments';
const replicaSets = 'apps/replicasets';
const daemonSets = 'apps/daemonsets';
const watched: readonly string[] = [deployments, replicaSets, daemonSets, 'pods', 'nodes'];

/**
 * Small controllers of Deployments, ReplicaSets and DaemonSets, the scheduler, and the removal of the Pods of deleted
 * Nodes, so that an evicted Pod comes up elsewhere. There are no gradual rollouts: a changed template makes a new
 * ReplicaSet at once. The scheduler knows readiness, cordons and taints, and puts a Pod on the node with the fewest of its controller.
 */
export function runWorkloadControllers(storage: ObjectStorage): () => void {
  return runKeyedLoop(
    storage,
    ({ storage: table, type, object }) => {
      if (!watched.includes(table)) return [];
      return table === 'nodes' && type === 'DELETED' ? [`node/${object.metadata.name}`, 'all'] : ['all'];
    },
    (key) => {
      if (key.startsWith('node/')) removePodsOf(storage, key.slice('node/'.length));
      for (const one of storage.all(deployments)) if (isActive(one)) reconcileDeployment(storage, one);
      for (const one of storage.all(replicaSets)) if (isActive(one)) reconcileReplicaSet(storage, one);
      for (const one of storage.all(daemonSets)) if (isActive(one)) reconcileDaemonSet(storage, one);
      for (const pod of storage.all('pods')) if (isActive(pod)) schedule(storage, pod);
    },
    ['all'],
  );
}

const isActive = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp === undefined;
const specOf = (object: ApiObject): JsonObject => asObject(object['spec']);
const phaseOf = (pod: ApiObject): unknown => asObject(pod['status'])['phase'];
const isFinished = (pod: ApiObject): boolean => phaseOf(pod) === 'Succeeded' || phaseOf(pod) === 'Failed';
const hasCondition = (object: ApiObject, type: string): boolean =>
  asArray(asObject(object['status'])['conditions'])
    .map(asObject)
    .some((one) => one['type'] === type && one['status'] === 'True');

/** A Node that is deleted takes its Pods along (kubernetes: pkg/controller/podgc; there after up to a minute). */
function removePodsOf(storage: ObjectStorage, node: string): void {
  if (storage.read('nodes', undefined, node)) return;
  for (const { metadata, ...pod } of storage.all('pods'))
    if (asObject(pod['spec'])['nodeName'] === node) storage.erase('pods', metadata.namespace, metadata.name);
}

const ownerOf = ({ apiVersion, kind, metadata: { name, uid = '' } }: ApiObject) => ({
  ...{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true },
});

const ownedBy = (storage: ObjectStorage, table: string, owner: ApiObject): ApiObject[] =>
  storage
    .all(table, owner.metadata.namespace)
    .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));

function reconcileDeployment(storage: ObjectStorage, deployment: ApiObject): void {
  const { replicas = 1, template, selector } = specOf(deployment);
  const hash = createHash('sha256').update(canonicalJson(template)).digest('hex').slice(0, 10);
  const name = `${deployment.metadata.name}-${hash}`;
  const present = ownedBy(storage, replicaSets, deployment);
  for (const other of present)
    if (other.metadata.name !== name) deleteStored(storage, replicaSets, other, { dryRun: false });
  const own = present.find(({ metadata }) => metadata.name === name);
  if (!own) {
    const { namespace = '' } = deployment.metadata;
    const { labels = {} } = asObject(asObject(template)['metadata']) as { labels?: Record<string, string> };
    storage.put({
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      metadata: { name, namespace, labels, generation: 1, ownerReferences: [ownerOf(deployment)] },
      spec: { replicas, selector, template },
      status: { replicas: 0 },
    });
    return;
  }
  if (specOf(own)['replicas'] !== replicas)
    storage.write(replicaSets, { ...clone(own), spec: { ...specOf(own), replicas } });
  const { replicas: created = 0, ...ready } = asObject(own['status']);
  const isAvailable = Number(ready['availableReplicas'] ?? 0) >= Number(replicas);
  const counts = { replicas: created, updatedReplicas: created, ...ready };
  writeStatus(storage, deployments, deployment, { ...counts, conditions: conditionsOf(deployment, isAvailable) });
}

/** The conditions of a Deployment. One that keeps its status keeps its times (kubernetes: pkg/controller/deployment/util). */
function conditionsOf(deployment: ApiObject, isAvailable: boolean): JsonObject[] {
  const before = asArray(asObject(deployment['status'])['conditions']).map(asObject);
  const condition = (type: string, status: 'True' | 'False', reason: string): JsonObject => {
    const known = before.find((one) => one['type'] === type && one['status'] === status);
    const now = nowSeconds();
    const { lastTransitionTime = now, lastUpdateTime = now } = known ?? {};
    return { type, status, reason, lastTransitionTime, lastUpdateTime };
  };
  return isAvailable
    ? [
        condition('Available', 'True', 'MinimumReplicasAvailable'),
        condition('Progressing', 'True', 'NewReplicaSetAvailable'),
      ]
    : [
        condition('Available', 'False', 'MinimumReplicasUnavailable'),
        condition('Progressing', 'True', 'ReplicaSetUpdated'),
      ];
}

function reconcileReplicaSet(storage: ObjectStorage, set: ApiObject): void {
  const selector = asObject(specOf(set)['selector']);
  const pods = ownedBy(storage, 'pods', set).filter(
    (pod) => isActive(pod) && !isFinished(pod) && matchesSelectorObject(selector, pod.metadata.labels ?? {}),
  );
  const wanted = Number(specOf(set)['replicas'] ?? 1);
  for (let missing = wanted - pods.length; missing > 0; missing -= 1)
    createPod(storage, set, `${set.metadata.name}-${randomSuffix()}`);
  // Pods that are not ready go first.
  const surplus = [...pods].sort((a, b) => Number(hasCondition(a, 'Ready')) - Number(hasCondition(b, 'Ready')));
  for (const pod of surplus.slice(0, Math.max(0, pods.length - wanted)))
    deleteStored(storage, 'pods', pod, { dryRun: false });
  const ready = pods.filter((pod) => hasCondition(pod, 'Ready')).length;
  writeStatus(storage, replicaSets, set, { replicas: wanted, readyReplicas: ready, availableReplicas: ready });
}

function reconcileDaemonSet(storage: ObjectStorage, set: ApiObject): void {
  const pods = ownedBy(storage, 'pods', set).filter((pod) => !isFinished(pod));
  const nodes = storage.all('nodes').map(({ metadata }) => metadata.name);
  for (const node of nodes)
    if (!pods.some((pod) => specOf(pod)['nodeName'] === node))
      createPod(storage, set, `${set.metadata.name}-${randomSuffix()}`, { nodeName: node });
  const image = imagesOf(asObject(specOf(set)['template']));
  const isCurrent = (pod: ApiObject): boolean => imagesOf(pod) === image;
  const ready = pods.filter((pod) => hasCondition(pod, 'Ready')).length;
  // A rolling update: the next outdated Pod goes when all others are ready.
  const outdated = pods.find((pod) => isActive(pod) && !isCurrent(pod));
  if (outdated && ready >= pods.length) deleteStored(storage, 'pods', outdated, { dryRun: false });
  writeStatus(storage, daemonSets, set, {
    ...{ desiredNumberScheduled: nodes.length, currentNumberScheduled: pods.length, numberMisscheduled: 0 },
    ...{ numberReady: ready, numberAvailable: ready, updatedNumberScheduled: pods.filter(isCurrent).length },
  });
}

const imagesOf = (pod: { readonly [field: string]: unknown }): string =>
  asArray(asObject(pod['spec'])['containers'])
    .map((container) => String(asObject(container)['image']))
    .join();

function createPod(storage: ObjectStorage, owner: ApiObject, name: string, more: JsonObject = {}): void {
  const { metadata, spec } = asObject(specOf(owner)['template']) as { metadata?: JsonObject; spec?: JsonObject };
  const { labels = {}, annotations } = asObject(metadata) as Pick<ApiObject['metadata'], 'labels' | 'annotations'>;
  storage.put({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name, namespace: owner.metadata.namespace ?? '', generation: 1, labels },
      ...(annotations ? { annotations } : {}),
      ownerReferences: [ownerOf(owner)],
    },
    spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...spec, ...more },
    status: { phase: 'Pending', qosClass: 'BestEffort' },
  });
}

function writeStatus(storage: ObjectStorage, table: string, object: ApiObject, counts: JsonObject): void {
  const status = { ...counts, observedGeneration: object.metadata.generation ?? 0 };
  if (!equal(status, asObject(object['status']))) storage.write(table, { ...clone(object), status });
}

function schedule(storage: ObjectStorage, pod: ApiObject): void {
  if (specOf(pod)['nodeName'] || isFinished(pod)) return;
  const pods = storage.all('pods').filter((other) => !isFinished(other));
  const owner = ownerUidOf(pod);
  // The Pods of one controller count most, as with the default topology spread of kube-scheduler.
  const load = (node: ApiObject): number =>
    pods
      .filter((other) => specOf(other)['nodeName'] === node.metadata.name)
      .reduce((sum, other) => sum + (owner !== undefined && ownerUidOf(other) === owner ? pods.length : 1), 0);
  const [node] = storage
    .all('nodes')
    .filter((one) => admits(one, pod))
    .sort((a, b) => load(a) - load(b));
  if (!node) return;
  storage.write('pods', { ...clone(pod), spec: { ...specOf(pod), nodeName: node.metadata.name } });
}

const ownerUidOf = ({ metadata }: ApiObject): string | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller)?.uid;

function admits(node: ApiObject, pod: ApiObject): boolean {
  const { unschedulable, taints } = specOf(node);
  if (unschedulable === true || !hasCondition(node, 'Ready')) return false;
  const tolerations = asArray(specOf(pod)['tolerations']).map(asObject);
  return asArray(taints)
    .map(asObject)
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) => tolerations.some(({ key }) => key === undefined || key === taint['key']));
}
