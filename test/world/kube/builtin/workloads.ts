import { podTemplateSchema } from './pod.ts';
import {
  conditionsSchema,
  flagSchema,
  freeFormSchema,
  int32Schema,
  int64Schema,
  intOrStringSchema,
  kindSchema,
  labelSelectorSchema,
  structSchema,
  textSchema,
  timeSchema,
} from './schema-parts.ts';

/** Schemas of the kinds that create pods. */

const workloadStatus = structSchema({
  observedGeneration: int64Schema,
  replicas: int32Schema,
  updatedReplicas: int32Schema,
  readyReplicas: int32Schema,
  availableReplicas: int32Schema,
  unavailableReplicas: int32Schema,
  terminatingReplicas: int32Schema,
  collisionCount: int32Schema,
  conditions: conditionsSchema,
});

export const deploymentSchema = kindSchema('Deployment enables declarative updates for Pods and ReplicaSets.', {
  spec: structSchema({
    replicas: { ...int32Schema, default: 1 },
    selector: labelSelectorSchema,
    template: podTemplateSchema,
    strategy: structSchema({
      type: textSchema,
      rollingUpdate: structSchema({ maxUnavailable: intOrStringSchema, maxSurge: intOrStringSchema }),
    }),
    minReadySeconds: int32Schema,
    revisionHistoryLimit: { ...int32Schema, default: 10 },
    paused: flagSchema,
    progressDeadlineSeconds: { ...int32Schema, default: 600 },
  }),
  status: workloadStatus,
});

export const replicaSetSchema = kindSchema('ReplicaSet ensures that a specified number of pod replicas are running.', {
  spec: structSchema({
    replicas: { ...int32Schema, default: 1 },
    minReadySeconds: int32Schema,
    selector: labelSelectorSchema,
    template: podTemplateSchema,
  }),
  status: structSchema({
    ...workloadStatus.properties,
    fullyLabeledReplicas: int32Schema,
  }),
});

export const daemonSetSchema = kindSchema('DaemonSet represents the configuration of a daemon set.', {
  spec: structSchema({
    selector: labelSelectorSchema,
    template: podTemplateSchema,
    updateStrategy: freeFormSchema,
    minReadySeconds: int32Schema,
    revisionHistoryLimit: int32Schema,
  }),
  status: { ...freeFormSchema, properties: { conditions: conditionsSchema } },
});

export const statefulSetSchema = kindSchema('StatefulSet represents a set of pods with consistent identities.', {
  spec: {
    ...freeFormSchema,
    properties: {
      replicas: { ...int32Schema, default: 1 },
      selector: labelSelectorSchema,
      template: podTemplateSchema,
    },
  },
  status: { ...freeFormSchema, properties: { conditions: conditionsSchema } },
});

export const jobSchema = kindSchema('Job represents the configuration of a single job.', {
  spec: structSchema({
    parallelism: { ...int32Schema, default: 1 },
    completions: { ...int32Schema, default: 1 },
    activeDeadlineSeconds: int64Schema,
    podFailurePolicy: freeFormSchema,
    successPolicy: freeFormSchema,
    backoffLimit: { ...int32Schema, default: 6 },
    backoffLimitPerIndex: int32Schema,
    maxFailedIndexes: int32Schema,
    selector: labelSelectorSchema,
    manualSelector: { ...flagSchema, default: false },
    template: podTemplateSchema,
    ttlSecondsAfterFinished: int32Schema,
    completionMode: { ...textSchema, default: 'NonIndexed' },
    suspend: { ...flagSchema, default: false },
    podReplacementPolicy: textSchema,
    managedBy: textSchema,
  }),
  status: structSchema({
    conditions: conditionsSchema,
    startTime: timeSchema,
    completionTime: timeSchema,
    active: int32Schema,
    succeeded: int32Schema,
    failed: int32Schema,
    terminating: int32Schema,
    completedIndexes: textSchema,
    failedIndexes: textSchema,
    uncountedTerminatedPods: freeFormSchema,
    ready: int32Schema,
  }),
});
