import { conditions, flag, free, integer, intOrText, kind, labelSelector, long, object, text, time } from './parts.ts';
import { podTemplate } from './pod.ts';

/** Schemas of the kinds that make pods. */

const workloadStatus = object({
  observedGeneration: long,
  replicas: integer,
  updatedReplicas: integer,
  readyReplicas: integer,
  availableReplicas: integer,
  unavailableReplicas: integer,
  terminatingReplicas: integer,
  collisionCount: integer,
  conditions,
});

export const deployment = kind('Deployment enables declarative updates for Pods and ReplicaSets.', {
  spec: object({
    replicas: { ...integer, default: 1 },
    selector: labelSelector,
    template: podTemplate,
    strategy: object({ type: text, rollingUpdate: object({ maxUnavailable: intOrText, maxSurge: intOrText }) }),
    minReadySeconds: integer,
    revisionHistoryLimit: { ...integer, default: 10 },
    paused: flag,
    progressDeadlineSeconds: { ...integer, default: 600 },
  }),
  status: workloadStatus,
});

export const replicaSet = kind('ReplicaSet ensures that a specified number of pod replicas are running.', {
  spec: object({
    replicas: { ...integer, default: 1 },
    minReadySeconds: integer,
    selector: labelSelector,
    template: podTemplate,
  }),
  status: object({
    ...workloadStatus.properties,
    fullyLabeledReplicas: integer,
  }),
});

export const daemonSet = kind('DaemonSet represents the configuration of a daemon set.', {
  spec: object({
    selector: labelSelector,
    template: podTemplate,
    updateStrategy: free,
    minReadySeconds: integer,
    revisionHistoryLimit: integer,
  }),
  status: { ...free, properties: { conditions } },
});

export const statefulSet = kind('StatefulSet represents a set of pods with consistent identities.', {
  spec: {
    ...free,
    properties: { replicas: { ...integer, default: 1 }, selector: labelSelector, template: podTemplate },
  },
  status: { ...free, properties: { conditions } },
});

export const job = kind('Job represents the configuration of a single job.', {
  spec: object({
    parallelism: { ...integer, default: 1 },
    completions: { ...integer, default: 1 },
    activeDeadlineSeconds: long,
    podFailurePolicy: free,
    successPolicy: free,
    backoffLimit: { ...integer, default: 6 },
    backoffLimitPerIndex: integer,
    maxFailedIndexes: integer,
    selector: labelSelector,
    manualSelector: { ...flag, default: false },
    template: podTemplate,
    ttlSecondsAfterFinished: integer,
    completionMode: { ...text, default: 'NonIndexed' },
    suspend: { ...flag, default: false },
    podReplacementPolicy: text,
    managedBy: text,
  }),
  status: object({
    conditions,
    startTime: time,
    completionTime: time,
    active: integer,
    succeeded: integer,
    failed: integer,
    terminating: integer,
    completedIndexes: text,
    failedIndexes: text,
    uncountedTerminatedPods: free,
    ready: integer,
  }),
});
