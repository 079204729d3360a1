import { isDeepStrictEqual } from 'node:util';
import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  isConditionTrue,
  mergeConditions,
  summarizeReady,
} from '../../api/conditions.ts';
import { clusterProfileName, instanceFinalizers, isHeldByOtherInstance } from '../../api/names.ts';
import { type Cluster, ClusterProfile, openmcpPhases } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { formatObjectKey, type ObjectKey } from '../../kube/resource.ts';
import type { Log } from '../../lib/log.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { describeUnknownRequest } from '../rollout/policy/rollout-hold.ts';
import { consumeOperation, ensureFinalizer, patchStatusIfExists, removeFinalizer } from '../shared/objects.ts';
import type { PlatformCheck, PlatformChecks } from '../shared/platform-checks.ts';
import type { Services } from '../shared/services.ts';
import { newestKnown } from '../shared/status-writes.ts';
import { checkPlatform, formatDiagnostics, hashCheckInputs } from './check-platform.ts';
import { checkProfileName, describeProfile, isOwnProfile } from './cluster-profile.ts';
import { validateProviderConfig } from './validate-provider-config.ts';

const resyncSeconds = 600;
const unreachableRetrySeconds = 30;
/** The fields of the status that other controllers write. */
const otherFields = ['orphans', 'orphanCount', 'orphanSearch', 'rollout'] as const;

interface ConfigReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Publishes one ClusterProfile for each ProviderConfig. Problems become conditions that name the field. They do not
 * affect other ProviderConfigs.
 */
export async function reconcileProviderConfig(
  services: Services,
  checks: PlatformChecks,
  key: ObjectKey,
  context: ConfigReconcileContext,
): Promise<ReconcileResult> {
  const { kube, stores, provider } = services;
  const cached = stores.providerConfigs.get(key);
  if (cached?.spec?.providerRef?.name !== provider) return {};
  const found = newestKnown(kube, ProviderConfig, cached);
  const finalizer = instanceFinalizers(services).providerConfig;
  if (isHeldByOtherInstance(found.metadata.finalizers, finalizer)) {
    const { finalizers } = found.metadata;
    context.log.warn({ finalizers }, 'another instance of this provider manages the ProviderConfig, which is ignored');
    return {};
  }
  const { operation, object: config } = await consumeOperation(kube, ProviderConfig, found, context.signal);
  if (operation === 'ignore') return {};
  if (config.metadata.deletionTimestamp) return await releaseConfig(services, config, context);
  const held = await ensureFinalizer(kube, ProviderConfig, config, finalizer, context.signal);
  if (!held) return {};
  const isRequested = operation === 'reconcile';
  const { states, check } = await assessConfig(services, { config: held, checks, isRequested }, context);
  const isServed = states.every((state) => state.status === 'True');
  if (isServed) states.push(await publishProfile(services, held, context));
  await reportStatus(services, held, states, context);
  if (check) {
    checks.record(held, check.made, check.inputs);
    checks.announce(held, isRequested);
  }
  const isUnreachable = states.some(({ reason }) => reason === 'PlatformUnreachable');
  return { requeueAfterSeconds: isUnreachable ? unreachableRetrySeconds : resyncSeconds };
}

interface AssessmentTask {
  readonly config: ProviderConfig;
  readonly checks: PlatformChecks;
  /** A user wants the platform to be checked now. */
  readonly isRequested: boolean;
}

interface ConfigAssessment {
  readonly states: ConditionState[];
  /** Undefined: the platform was not checked, because the spec is not valid, or changed only what the platform does not read. */
  readonly check?: { readonly made: PlatformCheck; readonly inputs: string | undefined };
}

/** The conditions of the spec and its platform, in the order in which a user should fix them. */
async function assessConfig(
  services: Services,
  { config, checks, isRequested }: AssessmentTask,
  context: ConfigReconcileContext,
): Promise<ConfigAssessment> {
  const { environment, provider } = services;
  const misnamed = checkProfileName(environment, provider, config.metadata.name);
  const checked =
    misnamed.length > 0 ? { findings: misnamed } : await validateProviderConfig(services, config, context.signal);
  if ('findings' in checked)
    return { states: [conditionFalse('ConfigValid', 'InvalidConfig', formatDiagnostics(checked.findings))] };
  const valid = conditionTrue('ConfigValid', describeUnknownRequest(config));
  const inputs = hashCheckInputs(services, checked.chosen);
  const last = config.status?.conditions?.find(({ type }) => type === 'CredentialsValid');
  if (last?.status === 'True' && !isRequested && checks.reuse(config, inputs))
    return { states: [valid, conditionTrue('CredentialsValid', last.message)] };
  const { state, check } = await checkPlatform(services, checked.chosen, context);
  return { states: [valid, state], check: { made: check, inputs: state.status === 'True' ? inputs : undefined } };
}

async function publishProfile(
  services: Services,
  config: ProviderConfig,
  context: ConfigReconcileContext,
): Promise<ConditionState> {
  const { kube, stores, environment, provider } = services;
  const wanted = describeProfile(environment, provider, config);
  const { name } = wanted.metadata;
  // The API server may return the keys in another order.
  if (isDeepStrictEqual(stores.profiles.get({ name })?.spec, wanted.spec)) return conditionTrue('ProfilePublished');
  // Not from the cache: a profile that another provider has just created must not be overwritten.
  const present = await kube.find(ClusterProfile, { name }, context.signal);
  if (present && !isOwnProfile(present, environment, provider)) {
    const { providerRef, providerConfigRef } = present.spec;
    const message = `A ClusterProfile ${name} exists and belongs to ${providerConfigRef.name} of provider ${providerRef.name}. Remove it, or create a ProviderConfig with another name.`;
    return conditionFalse('ProfilePublished', 'NotManaged', message);
  }
  if (present) await kube.apply(ClusterProfile, withResourceVersion(wanted, present), { force: true }, context.signal);
  else await kube.create(ClusterProfile, wanted, context.signal);
  services.events.record(config, 'Normal', 'ProfilePublished', `ClusterProfile ${name} is current.`);
  return conditionTrue('ProfilePublished');
}

/** Makes the apply conditional on the version that was read. */
function withResourceVersion(
  wanted: ClusterProfile,
  { metadata: { resourceVersion } }: ClusterProfile,
): ClusterProfile {
  return { ...wanted, metadata: { ...wanted.metadata, ...(resourceVersion ? { resourceVersion } : {}) } };
}

/** Deletes the profile, unless it belongs to another instance. A missing profile is success. */
async function deleteProfile(services: Services, name: string, { signal, log }: ConfigReconcileContext): Promise<void> {
  const { kube, environment, provider } = services;
  const profile = await kube.find(ClusterProfile, { name }, signal);
  if (!profile || !isOwnProfile(profile, environment, provider)) return;
  const { uid, resourceVersion } = profile.metadata;
  const only = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  if (await kube.remove(ClusterProfile, { name }, only, signal)) log.info({ profile: name }, 'profile withdrawn');
}

/**
 * The Clusters of this instance that use a profile. `isOurs`: the profile is known to belong to this instance, which
 * the cache may not show yet.
 */
function clustersUsingProfile(services: Services, profile: string, isOurs = false): Cluster[] {
  const finalizer = instanceFinalizers(services).cluster;
  const isOwn = (cluster: Cluster): boolean =>
    isOurs ? !isHeldByOtherInstance(cluster.metadata.finalizers, finalizer) : isOwnCluster(services, cluster);
  return services.stores.clusters.by('profile', profile).filter(isOwn);
}

async function reportStatus(
  services: Services,
  config: ProviderConfig,
  assessed: ConditionState[],
  context: ConfigReconcileContext,
): Promise<void> {
  const all = [...assessed];
  for (const type of ['CredentialsValid', 'ProfilePublished'] as const) {
    if (all.some((state) => state.type === type)) continue;
    // A published profile stays published if it could not be checked this time.
    if (type === 'ProfilePublished' && isConditionTrue(config.status?.conditions, type)) all.push(conditionTrue(type));
    else all.push(conditionUnknown(type, 'InvalidConfig', 'Not checked: see the other conditions.'));
  }
  const ready = summarizeReady(all);
  const name = clusterProfileName(services.environment, services.provider, config.metadata.name);
  const published = all.some((state) => state.type === 'ProfilePublished' && state.status === 'True');
  const status: NonNullable<ProviderConfig['status']> = {
    observedGeneration: config.metadata.generation ?? 0,
    phase: ready.status === 'True' ? openmcpPhases.ready : openmcpPhases.progressing,
    conditions: mergeConditions(config.status?.conditions ?? [], [...all, ready], {
      generation: config.metadata.generation ?? 0,
      now: services.clock.now(),
      drop: ['NotInUse'],
    }),
    clusters: clustersUsingProfile(services, name, published).length,
    ...(published ? { profile: name } : {}),
  };
  const written = await patchStatusIfExists(services.kube, ProviderConfig, config, status, context.signal, {
    otherFields,
  });
  if (written) announceReadiness(services, config, ready, context.log);
}

/**
 * Records an Event and a log line when a ProviderConfig stops being Ready, when the reason changes, and when it is
 * Ready again.
 */
function announceReadiness(
  { events }: Pick<Services, 'events'>,
  config: ProviderConfig,
  { status, reason, message = '' }: ConditionState,
  log: Log,
): void {
  const before = config.status?.conditions?.find(({ type }) => type === 'Ready');
  if (status === 'True') {
    if (before?.status !== 'False') return;
    events.record(config, 'Normal', 'Ready', `It is ready again, after ${before.reason}.`);
    log.info({ after: before.reason }, 'ProviderConfig is ready again');
  } else if (before?.status !== status || before.reason !== reason) {
    events.record(config, 'Warning', reason, message);
    log.warn({ reason, why: message }, 'ProviderConfig is not ready');
  }
}

/** A ProviderConfig in use keeps its finalizer: its Clusters could neither be reconciled nor deleted without it. */
async function releaseConfig(
  services: Services,
  config: ProviderConfig,
  context: ConfigReconcileContext,
): Promise<ReconcileResult> {
  const { kube, environment, provider } = services;
  const finalizer = instanceFinalizers(services).providerConfig;
  if (!config.metadata.finalizers?.includes(finalizer)) return {};
  const name = clusterProfileName(environment, provider, config.metadata.name);
  const users = clustersUsingProfile(services, name);
  if (users.length > 0) {
    await reportInUse(services, config, users, context);
    return { requeueAfterSeconds: resyncSeconds };
  }
  await deleteProfile(services, name, context);
  await removeFinalizer(kube, ProviderConfig, config, finalizer, context.signal);
  return {};
}

async function reportInUse(
  services: Services,
  config: ProviderConfig,
  users: readonly Cluster[],
  context: ConfigReconcileContext,
): Promise<void> {
  const names = users.slice(0, 10).map((cluster) => formatObjectKey(cluster.metadata));
  const more = users.length > names.length ? ` and ${users.length - names.length} more` : '';
  const state = conditionFalse(
    'NotInUse',
    'InUse',
    `Still used by ${names.join(', ')}${more}. The deletion continues when they are deleted.`,
  );
  const generation = config.metadata.generation ?? 0;
  const status: NonNullable<ProviderConfig['status']> = {
    ...config.status,
    observedGeneration: generation,
    phase: openmcpPhases.terminating,
    clusters: users.length,
    conditions: mergeConditions(config.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
  };
  await patchStatusIfExists(services.kube, ProviderConfig, config, status, context.signal, {
    otherFields,
  });
}
