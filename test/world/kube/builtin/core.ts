import {
  atomicListSchema,
  atomicMapSchema,
  atomicObjectSchema,
  base64Schema,
  conditionsSchema,
  flagSchema,
  freeFormSchema,
  int32Schema,
  intOrStringSchema,
  keyedListSchema,
  kindSchema,
  mapSchema,
  microTimeSchema,
  objectReferenceSchema,
  structSchema,
  textSchema,
  timeSchema,
} from './schema-parts.ts';

/** Schemas of the built-in kinds, with the fields that our clients use; nested parts without a reader are free-form. */

export const namespaceSchema = kindSchema('Namespace provides a scope for Names.', {
  spec: structSchema({ finalizers: atomicListSchema(textSchema) }),
  status: structSchema({ phase: textSchema, conditions: conditionsSchema }),
});

export const secretSchema = kindSchema('Secret holds secret data of a certain type.', {
  data: mapSchema(base64Schema),
  stringData: mapSchema(textSchema),
  immutable: flagSchema,
  type: textSchema,
});

export const configMapSchema = kindSchema('ConfigMap holds configuration data for pods to consume.', {
  data: mapSchema(textSchema),
  binaryData: mapSchema(base64Schema),
  immutable: flagSchema,
});

export const serviceAccountSchema = kindSchema(
  'ServiceAccount binds a name, a principal and a set of secrets together.',
  {
    automountServiceAccountToken: flagSchema,
    imagePullSecrets: keyedListSchema(['name'], atomicObjectSchema({ name: textSchema })),
    secrets: keyedListSchema(['name'], objectReferenceSchema),
  },
);

export const coreEventSchema = kindSchema('Event is a report of an event somewhere in the cluster.', {
  involvedObject: objectReferenceSchema,
  reason: textSchema,
  message: textSchema,
  source: structSchema({ component: textSchema, host: textSchema }),
  firstTimestamp: timeSchema,
  lastTimestamp: timeSchema,
  count: int32Schema,
  type: textSchema,
  eventTime: microTimeSchema,
  series: structSchema({ count: int32Schema, lastObservedTime: microTimeSchema }),
  action: textSchema,
  related: objectReferenceSchema,
  reportingComponent: textSchema,
  reportingInstance: textSchema,
});

export const eventSchema = kindSchema('Event is a report of an event somewhere in the cluster.', {
  eventTime: microTimeSchema,
  series: structSchema({ count: int32Schema, lastObservedTime: microTimeSchema }),
  reportingController: textSchema,
  reportingInstance: textSchema,
  action: textSchema,
  reason: textSchema,
  regarding: objectReferenceSchema,
  related: objectReferenceSchema,
  note: textSchema,
  type: textSchema,
  deprecatedSource: structSchema({ component: textSchema, host: textSchema }),
  deprecatedFirstTimestamp: timeSchema,
  deprecatedLastTimestamp: timeSchema,
  deprecatedCount: int32Schema,
});

export const leaseSchema = kindSchema('Lease defines a lease concept.', {
  spec: structSchema({
    holderIdentity: textSchema,
    leaseDurationSeconds: int32Schema,
    acquireTime: microTimeSchema,
    renewTime: microTimeSchema,
    leaseTransitions: int32Schema,
    strategy: textSchema,
    preferredHolder: textSchema,
  }),
});

export const serviceSchema = kindSchema('Service is a named abstraction of software service.', {
  spec: structSchema({
    ports: keyedListSchema(
      ['port', 'protocol'],
      structSchema({
        name: textSchema,
        protocol: { type: 'string', default: 'TCP' },
        appProtocol: textSchema,
        port: int32Schema,
        targetPort: intOrStringSchema,
        nodePort: int32Schema,
      }),
    ),
    selector: atomicMapSchema(textSchema),
    clusterIP: textSchema,
    clusterIPs: atomicListSchema(textSchema),
    type: textSchema,
    externalIPs: atomicListSchema(textSchema),
    sessionAffinity: textSchema,
    sessionAffinityConfig: freeFormSchema,
    loadBalancerIP: textSchema,
    loadBalancerSourceRanges: atomicListSchema(textSchema),
    loadBalancerClass: textSchema,
    allocateLoadBalancerNodePorts: flagSchema,
    externalName: textSchema,
    externalTrafficPolicy: textSchema,
    internalTrafficPolicy: textSchema,
    healthCheckNodePort: int32Schema,
    publishNotReadyAddresses: flagSchema,
    ipFamilies: atomicListSchema(textSchema),
    ipFamilyPolicy: textSchema,
    trafficDistribution: textSchema,
  }),
  status: structSchema({ loadBalancer: freeFormSchema, conditions: conditionsSchema }),
});

const endpointAddress = atomicObjectSchema({
  ip: textSchema,
  hostname: textSchema,
  nodeName: textSchema,
  targetRef: objectReferenceSchema,
});
export const endpointsSchema = kindSchema('Endpoints is a collection of endpoints that implement the actual service.', {
  subsets: atomicListSchema(
    structSchema({
      addresses: atomicListSchema(endpointAddress),
      notReadyAddresses: atomicListSchema(endpointAddress),
      ports: atomicListSchema(
        structSchema({ name: textSchema, port: int32Schema, protocol: textSchema, appProtocol: textSchema }),
      ),
    }),
  ),
});

export const resourceQuotaSchema = kindSchema(
  'ResourceQuota sets aggregate quota restrictions enforced per namespace.',
  {
    spec: structSchema({
      hard: mapSchema(intOrStringSchema),
      scopes: atomicListSchema(textSchema),
      scopeSelector: freeFormSchema,
    }),
    status: structSchema({ hard: mapSchema(intOrStringSchema), used: mapSchema(intOrStringSchema) }),
  },
);

export const limitRangeSchema = kindSchema(
  'LimitRange sets resource usage limits for each kind of resource in a Namespace.',
  {
    spec: structSchema({ limits: atomicListSchema(freeFormSchema) }),
  },
);
