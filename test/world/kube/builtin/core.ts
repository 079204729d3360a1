import type { Schema } from '../schema/schema.ts';
import {
  atomicMapOf,
  atomicObject,
  base64,
  conditions,
  flag,
  free,
  integer,
  intOrText,
  kind,
  labelSelector,
  listBy,
  listOf,
  long,
  mapOf,
  metadata,
  microTime,
  object,
  objectReference,
  setOf,
  text,
  time,
} from './parts.ts';

/** Schemas of the built-in kinds, with the fields that our clients use; deep parts that nobody reads are free-form. */

export const namespace = kind('Namespace provides a scope for Names.', {
  spec: object({ finalizers: listOf(text) }),
  status: object({ phase: text, conditions }),
});

export const secret = kind('Secret holds secret data of a certain type.', {
  data: mapOf(base64),
  stringData: mapOf(text),
  immutable: flag,
  type: text,
});

export const configMap = kind('ConfigMap holds configuration data for pods to consume.', {
  data: mapOf(text),
  binaryData: mapOf(base64),
  immutable: flag,
});

export const serviceAccount = kind('ServiceAccount binds a name, a principal and a set of secrets together.', {
  automountServiceAccountToken: flag,
  imagePullSecrets: listBy(['name'], atomicObject({ name: text })),
  secrets: listBy(['name'], objectReference),
});

export const coreEvent = kind('Event is a report of an event somewhere in the cluster.', {
  involvedObject: objectReference,
  reason: text,
  message: text,
  source: object({ component: text, host: text }),
  firstTimestamp: time,
  lastTimestamp: time,
  count: integer,
  type: text,
  eventTime: microTime,
  series: object({ count: integer, lastObservedTime: microTime }),
  action: text,
  related: objectReference,
  reportingComponent: text,
  reportingInstance: text,
});

export const event = kind('Event is a report of an event somewhere in the cluster.', {
  eventTime: microTime,
  series: object({ count: integer, lastObservedTime: microTime }),
  reportingController: text,
  reportingInstance: text,
  action: text,
  reason: text,
  regarding: objectReference,
  related: objectReference,
  note: text,
  type: text,
  deprecatedSource: object({ component: text, host: text }),
  deprecatedFirstTimestamp: time,
  deprecatedLastTimestamp: time,
  deprecatedCount: integer,
});

export const lease = kind('Lease defines a lease concept.', {
  spec: object({
    holderIdentity: text,
    leaseDurationSeconds: integer,
    acquireTime: microTime,
    renewTime: microTime,
    leaseTransitions: integer,
    strategy: text,
    preferredHolder: text,
  }),
});

export const node = kind('Node is a worker node in Kubernetes.', {
  spec: object({
    podCIDR: text,
    podCIDRs: setOf(text),
    providerID: text,
    unschedulable: flag,
    taints: listOf(object({ key: text, value: text, effect: text, timeAdded: time })),
    externalID: text,
    configSource: free,
  }),
  status: object({
    capacity: mapOf(intOrText),
    allocatable: mapOf(intOrText),
    phase: text,
    conditions,
    addresses: listBy(['type'], object({ type: text, address: text })),
    daemonEndpoints: free,
    nodeInfo: object({
      machineID: text,
      systemUUID: text,
      bootID: text,
      kernelVersion: text,
      osImage: text,
      containerRuntimeVersion: text,
      kubeletVersion: text,
      kubeProxyVersion: text,
      operatingSystem: text,
      architecture: text,
      swap: free,
    }),
    images: listOf(free),
    volumesInUse: listOf(text),
    volumesAttached: listOf(free),
    config: free,
    runtimeHandlers: listOf(free),
    features: free,
  }),
});

const environment = listBy(['name'], object({ name: text, value: text, valueFrom: free }));
const container = object({
  name: text,
  image: text,
  command: listOf(text),
  args: listOf(text),
  workingDir: text,
  ports: listBy(
    ['containerPort', 'protocol'],
    object({
      name: text,
      hostPort: integer,
      containerPort: integer,
      protocol: { type: 'string', default: 'TCP' },
      hostIP: text,
    }),
  ),
  env: environment,
  envFrom: listOf(free),
  resources: object({
    limits: mapOf(intOrText),
    requests: mapOf(intOrText),
    claims: listBy(['name'], object({ name: text, request: text })),
  }),
  resizePolicy: listOf(free),
  restartPolicy: text,
  volumeMounts: listBy(
    ['mountPath'],
    object({
      name: text,
      readOnly: flag,
      recursiveReadOnly: text,
      mountPath: text,
      subPath: text,
      mountPropagation: text,
      subPathExpr: text,
    }),
  ),
  volumeDevices: listOf(free),
  livenessProbe: free,
  readinessProbe: free,
  startupProbe: free,
  lifecycle: free,
  terminationMessagePath: text,
  terminationMessagePolicy: text,
  imagePullPolicy: text,
  securityContext: free,
  stdin: flag,
  stdinOnce: flag,
  tty: flag,
});

const podSpec = object({
  volumes: listBy(['name'], { ...free, properties: { name: text } }),
  initContainers: listBy(['name'], container),
  containers: listBy(['name'], container),
  ephemeralContainers: listBy(['name'], free),
  restartPolicy: text,
  terminationGracePeriodSeconds: long,
  activeDeadlineSeconds: long,
  dnsPolicy: text,
  nodeSelector: atomicMapOf(text),
  serviceAccountName: text,
  serviceAccount: text,
  automountServiceAccountToken: flag,
  nodeName: text,
  hostNetwork: flag,
  hostPID: flag,
  hostIPC: flag,
  hostUsers: flag,
  shareProcessNamespace: flag,
  securityContext: free,
  imagePullSecrets: listBy(['name'], atomicObject({ name: text })),
  hostname: text,
  subdomain: text,
  affinity: free,
  schedulerName: text,
  tolerations: listOf(free),
  hostAliases: listBy(['ip'], object({ ip: text, hostnames: listOf(text) })),
  priorityClassName: text,
  priority: integer,
  dnsConfig: free,
  readinessGates: listOf(free),
  runtimeClassName: text,
  enableServiceLinks: flag,
  preemptionPolicy: text,
  overhead: mapOf(intOrText),
  topologySpreadConstraints: listOf(free),
  setHostnameAsFQDN: flag,
  os: free,
  schedulingGates: listOf(free),
  resourceClaims: listOf(free),
});

export const pod = kind('Pod is a collection of containers that can run on a host.', {
  spec: podSpec,
  status: object({
    observedGeneration: long,
    phase: text,
    conditions,
    message: text,
    reason: text,
    nominatedNodeName: text,
    hostIP: text,
    hostIPs: listOf(free),
    podIP: text,
    podIPs: listBy(['ip'], object({ ip: text })),
    startTime: time,
    initContainerStatuses: listOf(free),
    containerStatuses: listOf(free),
    ephemeralContainerStatuses: listOf(free),
    qosClass: text,
    resize: text,
  }),
});

export const podTemplate: Schema = object({ metadata, spec: podSpec });

export const service = kind('Service is a named abstraction of software service.', {
  spec: object({
    ports: listBy(
      ['port', 'protocol'],
      object({
        name: text,
        protocol: { type: 'string', default: 'TCP' },
        appProtocol: text,
        port: integer,
        targetPort: intOrText,
        nodePort: integer,
      }),
    ),
    selector: atomicMapOf(text),
    clusterIP: text,
    clusterIPs: listOf(text),
    type: text,
    externalIPs: listOf(text),
    sessionAffinity: text,
    sessionAffinityConfig: free,
    loadBalancerIP: text,
    loadBalancerSourceRanges: listOf(text),
    loadBalancerClass: text,
    allocateLoadBalancerNodePorts: flag,
    externalName: text,
    externalTrafficPolicy: text,
    internalTrafficPolicy: text,
    healthCheckNodePort: integer,
    publishNotReadyAddresses: flag,
    ipFamilies: listOf(text),
    ipFamilyPolicy: text,
    trafficDistribution: text,
  }),
  status: object({ loadBalancer: free, conditions }),
});

const endpointAddress = atomicObject({ ip: text, hostname: text, nodeName: text, targetRef: objectReference });
export const endpoints = kind('Endpoints is a collection of endpoints that implement the actual service.', {
  subsets: listOf(
    object({
      addresses: listOf(endpointAddress),
      notReadyAddresses: listOf(endpointAddress),
      ports: listOf(object({ name: text, port: integer, protocol: text, appProtocol: text })),
    }),
  ),
});

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
