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
  listBy,
  listOf,
  mapOf,
  microTime,
  object,
  objectReference,
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

export const resourceQuota = kind('ResourceQuota sets aggregate quota restrictions enforced per namespace.', {
  spec: object({ hard: mapOf(intOrText), scopes: listOf(text), scopeSelector: free }),
  status: object({ hard: mapOf(intOrText), used: mapOf(intOrText) }),
});

export const limitRange = kind('LimitRange sets resource usage limits for each kind of resource in a Namespace.', {
  spec: object({ limits: listOf(free) }),
});
