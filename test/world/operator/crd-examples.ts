import { AccessRequest, Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import type { ResourceType } from '../../../src/kube/resource.ts';
import { ClusterRequest } from './cluster-request.ts';

type Json = Readonly<Record<string, unknown>>;

/** One object of the openMCP kinds and the expected answer of an API server with their CRDs. */
export interface CrdExample {
  readonly title: string;
  readonly type: ResourceType;
  /** Everything but metadata, apiVersion and kind. */
  readonly create: Json;
  /** Merge patches in order. Only the last one may be refused. */
  readonly patches?: readonly { readonly patch: Json; readonly subresource?: 'status' }[];
  readonly accepted: boolean;
  /** Parts of the stored object at the end. */
  readonly stored?: Json;
}

const time = '2026-11-21T09:00:00Z';
const condition = (extra: Json = {}): Json => ({
  type: 'Ready',
  status: 'True',
  reason: 'AsExpected',
  message: '',
  lastTransitionTime: time,
  ...extra,
});
const common = { observedGeneration: 1, phase: 'Pending' };
const ref = { name: 'a', namespace: 'b' };

/** Status patches on an otherwise valid object. */
const onStatus =
  (type: ResourceType, create: Json) =>
  (accepted: boolean, title: string, ...patches: Json[]): CrdExample => ({
    title: `${type.kind} status: ${title}`,
    type,
    create,
    patches: patches.map((status) => ({ patch: { status }, subresource: 'status' as const })),
    accepted,
  });
const onSpec =
  (type: ResourceType) =>
  (accepted: boolean, title: string, spec: unknown, patch?: Json, stored?: Json): CrdExample => ({
    title: `${type.kind}: ${title}`,
    type,
    create: spec === undefined ? {} : { spec },
    ...(patch && { patches: [{ patch: { spec: patch } }] }),
    accepted,
    ...(stored && { stored }),
  });

const profile = onSpec(ClusterProfile);
const goodProfile = { providerRef: { name: 'talos' }, providerConfigRef: { name: 'small' }, supportedVersions: [] };

const profiles: CrdExample[] = [
  profile(true, 'complete', { ...goodProfile, supportedVersions: [{ version: '1.34.1', deprecated: true }] }),
  profile(true, 'no versions', goodProfile),
  profile(true, 'everything may change', goodProfile, { providerRef: { name: 'other' } }),
  profile(true, 'an empty reference', { ...goodProfile, providerRef: {} }, undefined, {
    spec: { ...goodProfile, providerRef: { name: '' } },
  }),
  profile(true, 'no spec at all', undefined),
  profile(false, 'versions missing', { providerRef: { name: 'a' }, providerConfigRef: { name: 'b' } }),
  profile(false, 'provider missing', { providerConfigRef: { name: 'b' }, supportedVersions: [] }),
  profile(false, 'a version too short to be one', { ...goodProfile, supportedVersions: [{ version: '1.34' }] }),
  profile(false, 'a version that is a number', { ...goodProfile, supportedVersions: [{ version: 1.34 }] }),
  profile(true, 'what is unknown is dropped', { ...goodProfile, extra: 1 }, undefined, { spec: goodProfile }),
];

const cluster = onSpec(Cluster);
const clusterStatus = onStatus(Cluster, { spec: { profile: 'p', tenancy: 'Shared' } });
const goodCluster = { profile: 'dev.talos.small', tenancy: 'Exclusive' };

const clusters: CrdExample[] = [
  cluster(true, 'the least', goodCluster),
  cluster(true, 'everything', {
    ...goodCluster,
    purposes: ['a', 'a'],
    kubernetes: { version: 'any' },
    clusterConfigs: [{ name: 'x' }, {}],
  }),
  cluster(true, 'an empty version', { ...goodCluster, kubernetes: {} }),
  cluster(true, 'an empty profile', { ...goodCluster, profile: '' }),
  cluster(false, 'profile missing', { tenancy: 'Shared' }),
  cluster(false, 'tenancy missing', { profile: 'p' }),
  cluster(false, 'tenancy of another kind', { profile: 'p', tenancy: 'shared' }),
  cluster(false, 'purposes empty', { ...goodCluster, purposes: [] }),
  cluster(false, 'profile changed', goodCluster, { profile: 'other' }),
  cluster(true, 'tenancy changed', goodCluster, { tenancy: 'Shared' }),
  cluster(true, 'version changed', goodCluster, { kubernetes: { version: '1.35.0' } }),
  clusterStatus(true, 'the least', common),
  clusterStatus(true, 'everything', {
    ...common,
    apiServer: 'https://a',
    endpoints: [{ name: 'x', url: 'y' }],
    conditions: [condition(), condition({ type: 'example.com/Other', observedGeneration: 3 })],
    providerStatus: { any: { thing: [1, 'two', null] } },
  }),
  clusterStatus(false, 'phase missing', { observedGeneration: 1 }),
  clusterStatus(false, 'observedGeneration missing', { phase: 'Ready' }),
  clusterStatus(false, 'an endpoint without url', { ...common, endpoints: [{ name: 'x' }] }),
  clusterStatus(false, 'one condition type twice', { ...common, conditions: [condition(), condition()] }),
  clusterStatus(false, 'a reason with a blank', { ...common, conditions: [condition({ reason: 'not so' })] }),
  clusterStatus(false, 'an empty reason', { ...common, conditions: [condition({ reason: '' })] }),
  clusterStatus(false, 'a status that is a truth value', { ...common, conditions: [condition({ status: true })] }),
  clusterStatus(false, 'a type with an underscore in front', { ...common, conditions: [condition({ type: '_x' })] }),
  clusterStatus(false, 'a time that is none', { ...common, conditions: [condition({ lastTransitionTime: 'now' })] }),
  clusterStatus(false, 'a generation below zero', { ...common, conditions: [condition({ observedGeneration: -1 })] }),
  clusterStatus(false, 'a condition without message', { ...common, conditions: [{ ...condition(), message: null }] }),
  clusterStatus(false, 'providerStatus that is text', { ...common, providerStatus: 'x' }),
];

const request = onSpec(ClusterRequest);
const requestStatus = onStatus(ClusterRequest, { spec: { purpose: 'test' } });

const requests: CrdExample[] = [
  request(true, 'the least', { purpose: 'test' }),
  request(true, 'with everything', { purpose: 'test', waitForClusterDeletion: true }),
  request(false, 'purpose missing', {}),
  request(false, 'purpose empty', { purpose: '' }),
  request(false, 'purpose changed', { purpose: 'test' }, { purpose: 'other' }),
  request(false, 'something added', { purpose: 'test' }, { waitForClusterDeletion: false }),
  requestStatus(true, 'granted', { ...common, phase: 'Granted', cluster: ref }),
  requestStatus(true, 'the cluster comes later', common, { cluster: ref }),
  requestStatus(false, 'another cluster', { ...common, cluster: ref }, { cluster: { name: 'c' } }),
  requestStatus(false, 'the cluster removed', { ...common, cluster: ref }, { cluster: null }),
  requestStatus(false, 'a cluster without namespace', { ...common, cluster: { name: 'a' } }),
];

const access = onSpec(AccessRequest);
const accessStatus = onStatus(AccessRequest, { spec: { token: {} } });
const oidc = { name: 'sso', issuer: 'https://sso.example.com', clientID: 'id', roleBindings: [] };
const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };

const accesses: CrdExample[] = [
  access(true, 'an empty token', { token: {} }),
  access(true, 'a token with everything', {
    clusterRef: ref,
    requestRef: ref,
    ttl: 'whatever',
    token: {
      permissions: [
        { rules: [rule] },
        { name: 'n', namespace: 'x', disableAutomaticNamespaceCreation: true, rules: [] },
      ],
      roleRefs: [
        { kind: 'ClusterRole', name: 'view' },
        { kind: 'Role', name: 'x' },
      ],
    },
  }),
  access(true, 'no spec at all', undefined),
  access(true, 'oidc gets its defaults', { oidc }, undefined, {
    spec: { oidc: { ...oidc, groupsClaim: 'groups', usernameClaim: 'sub' } },
  }),
  access(true, 'oidc with everything', {
    oidc: {
      ...oidc,
      groupsPrefix: '',
      usernamePrefix: 'x',
      extraScopes: ['a'],
      roleBindings: [{ subjects: [{ kind: 'User', name: 'a' }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] }],
      roles: [{ rules: [rule] }],
    },
  }),
  access(true, 'token becomes oidc', { token: {} }, { token: null, oidc }),
  access(true, 'clusterRef comes later', { token: {} }, { clusterRef: ref }),
  access(false, 'neither token nor oidc', {}),
  access(false, 'both token and oidc', { token: {}, oidc }),
  access(false, 'clusterRef changed', { token: {}, clusterRef: ref }, { clusterRef: { name: 'c' } }),
  access(false, 'clusterRef removed', { token: {}, clusterRef: ref }, { clusterRef: null }),
  access(false, 'requestRef changed', { token: {}, requestRef: ref }, { requestRef: { namespace: 'c' } }),
  access(false, 'requestRef removed', { token: {}, requestRef: ref }, { requestRef: null }),
  access(false, 'a reference without namespace', { token: {}, clusterRef: { name: 'a' } }),
  access(false, 'a permission without rules', { token: { permissions: [{}] } }),
  access(false, 'a rule without verbs', { token: { permissions: [{ rules: [{ resources: ['pods'] }] }] } }),
  access(false, 'a role of no kind', { token: { roleRefs: [{ name: 'x' }] } }),
  access(false, 'a role of an unknown kind', { token: { roleRefs: [{ kind: 'User', name: 'x' }] } }),
  access(false, 'a role without a name', { token: { roleRefs: [{ kind: 'Role', name: '' }] } }),
  access(false, 'oidc without bindings', { oidc: { name: 'a', issuer: 'https://a.b', clientID: 'c' } }),
  access(false, 'oidc called system', { oidc: { ...oidc, name: 'system' } }),
  access(false, 'oidc with a name that is none', { oidc: { ...oidc, name: 'Not a name' } }),
  access(false, 'an issuer that is no URL', { oidc: { ...oidc, issuer: 'sso.example.com' } }),
  access(false, 'an issuer without a host', { oidc: { ...oidc, issuer: 'https:///x' } }),
  access(false, 'an empty client id', { oidc: { ...oidc, clientID: '' } }),
  access(false, 'a binding without subjects', { oidc: { ...oidc, roleBindings: [{ roleRefs: [] }] } }),
  access(false, 'a subject without kind', {
    oidc: { ...oidc, roleBindings: [{ subjects: [{ name: 'a' }], roleRefs: [] }] },
  }),
  accessStatus(true, 'granted', { ...common, phase: 'Granted', secretRef: { name: 'x' } }),
  accessStatus(true, 'another secret', { ...common, secretRef: { name: 'x' } }, { secretRef: { name: 'y' } }),
  accessStatus(true, 'an unknown phase', { ...common, phase: 'Perhaps' }),
  accessStatus(false, 'nothing but a secret', { secretRef: { name: 'x' } }),
];

export const crdExamples: readonly CrdExample[] = [...profiles, ...clusters, ...requests, ...accesses];
