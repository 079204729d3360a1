import { isDeepStrictEqual } from 'node:util';
import { type ConditionState, isTrue, mergeConditions, no, summarize, unknown, yes } from '../../api/conditions.ts';
import { finalizers, profileName } from '../../api/names.ts';
import { type Cluster, ClusterProfile, phases } from '../../api/openmcp.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { Result } from '../../kube/controller.ts';
import { keyText, type ObjectKey } from '../../kube/resource.ts';
import type { Log } from '../../lib/log.ts';
import { dropFinalizer, ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Ground } from '../orphans/find.ts';
import type { Rounds } from '../orphans/rounds.ts';
import type { Services } from '../services.ts';
import { askPlatform, sentences } from './ask-platform.ts';
import { lookOver } from './look-over.ts';
import { listed, lookForOrphans, type OrphanReport } from './orphans.ts';
import { describeProfile } from './profile.ts';
import { type TidyPlace, tidySoon, tidyUp } from './tidy.ts';

const lookAgainSeconds = 600;

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * One ProviderConfig becomes one ClusterProfile. What is wrong with it becomes a condition that names the field; the
 * other ProviderConfigs are served meanwhile.
 */
export async function reconcileProviderConfig(
  services: Services,
  rounds: Rounds,
  key: ObjectKey,
  context: Context,
): Promise<Result> {
  const { kube, stores, provider } = services;
  const config = stores.providerConfigs.get(key);
  if (config?.spec?.providerRef?.name !== provider) return {};
  const operation = await takeOperation(kube, ProviderConfig, config, context.signal);
  if (operation === 'ignore') return {};
  if (operation === 'reconcile') tidySoon(services, config);
  if (operation === 'reconcile' || config.metadata.deletionTimestamp) rounds.forget(config);
  if (config.metadata.deletionTimestamp) return await letGo(services, config, context);
  const held = await ensureFinalizer(kube, ProviderConfig, config, finalizers.providerConfig, context.signal);
  if (!held) return {};
  const { states, grounds, places, away } = await judge(services, held, context);
  const isServed = states.every((state) => state.status === 'True');
  if (isServed) states.push(await publish(services, held, context));
  const orphans = await lookForOrphans(services, rounds, held, grounds, away);
  await report(services, orphans?.config ?? held, states, orphans, context);
  if (orphans?.isDone) rounds.finish(held);
  await tidyUp(services, held, places);
  const isAway = [...states, orphans?.state].some((state) => state?.reason === 'PlatformUnreachable');
  return { againInSeconds: Math.min(isAway ? 30 : lookAgainSeconds, orphans?.againInSeconds ?? lookAgainSeconds) };
}

/** What can be said about the spec and its platform, in the order in which it makes sense to mend it. */
async function judge(services: Services, config: ProviderConfig, context: Context): Promise<Judgement> {
  const looked = await lookOver(services, config, context.signal);
  if ('findings' in looked) {
    return {
      states: [no('ConfigValid', 'InvalidConfig', sentences(looked.findings))],
      grounds: [],
      places: [],
      away: [],
    };
  }
  const { name: platform, orphans, tidy } = looked.chosen.platform;
  const { state, checks, away } = await askPlatform(services, looked.chosen, context);
  return {
    states: [yes('ConfigValid'), state],
    grounds: orphans ? checks.map((check) => ({ platform, orphans, check })) : [],
    places: tidy ? checks.map((check) => ({ tidy, check })) : [],
    away,
  };
}

interface Judgement {
  readonly states: ConditionState[];
  /** Where orphans could be. */
  readonly grounds: readonly Ground[];
  /** Where there could be something that nobody needs. */
  readonly places: readonly TidyPlace[];
  /** The names of places that can be neither, since they do not answer or lack something. */
  readonly away: readonly string[];
}

async function publish(services: Services, config: ProviderConfig, context: Context): Promise<ConditionState> {
  const { kube, stores, environment, provider } = services;
  const wanted = describeProfile(environment, provider, config);
  const present = stores.profiles.get({ name: wanted.metadata.name });
  if (present && present.spec.providerRef.name !== provider) {
    return no(
      'ProfilePublished',
      'NotManaged',
      `A ClusterProfile ${wanted.metadata.name} exists and belongs to ${present.spec.providerRef.name}.`,
    );
  }
  // A real API server returns the keys in another order.
  if (!isDeepStrictEqual(present?.spec, wanted.spec)) {
    await kube.apply(ClusterProfile, wanted, { force: true }, context.signal);
    services.events.record(config, 'Normal', 'ProfilePublished', `ClusterProfile ${wanted.metadata.name} is current.`);
  }
  return yes('ProfilePublished');
}

async function report(
  services: Services,
  config: ProviderConfig,
  said: ConditionState[],
  orphans: OrphanReport | undefined,
  context: Context,
): Promise<void> {
  const all = [...said];
  for (const type of ['CredentialsValid', 'ProfilePublished'] as const) {
    if (all.some((state) => state.type === type)) continue;
    // What could not be looked at this time keeps a published profile published.
    if (type === 'ProfilePublished' && isTrue(config.status?.conditions, type)) all.push(yes(type));
    else
      all.push(unknown(type, 'InvalidConfig', 'Not looked at: something that it depends on has to be mended first.'));
  }
  const ready = summarize(all);
  const name = profileName(services.environment, services.provider, config.metadata.name);
  // Orphans stand in nobody's way: it is ready all the same.
  const { listed: left, state: aside } = orphans ?? { listed: listed(config), state: undefined };
  const published = all.some((state) => state.type === 'ProfilePublished' && state.status === 'True');
  const status: NonNullable<ProviderConfig['status']> = {
    observedGeneration: config.metadata.generation ?? 0,
    phase: ready.status === 'True' ? phases.ready : phases.progressing,
    conditions: mergeConditions(config.status?.conditions ?? [], [...all, ready, ...(aside ? [aside] : [])], {
      generation: config.metadata.generation ?? 0,
      now: services.clock.now(),
      drop: ['NotInUse'],
    }),
    clusters: services.stores.clusters.by('profile', name).length,
    ...(published ? { profile: name } : {}),
    ...left,
  };
  // What is known of orphans counts from when it was first written down: no older word may replace it.
  await writeStatus(services.kube, ProviderConfig, config, status, context.signal, { locked: true });
}

/** A ProviderConfig in use stays: without it its Clusters could neither be served nor taken down. */
async function letGo(services: Services, config: ProviderConfig, context: Context): Promise<Result> {
  const { kube, stores, environment, provider } = services;
  if (!config.metadata.finalizers?.includes(finalizers.providerConfig)) return {};
  const name = profileName(environment, provider, config.metadata.name);
  const users = stores.clusters.by('profile', name);
  if (users.length > 0) {
    await reportInUse(services, config, users, context);
    return { againInSeconds: lookAgainSeconds };
  }
  await kube.remove(ClusterProfile, { name }, {}, context.signal);
  await dropFinalizer(kube, ProviderConfig, config, finalizers.providerConfig, context.signal);
  context.log.info({ profile: name }, 'profile withdrawn');
  return {};
}

async function reportInUse(
  services: Services,
  config: ProviderConfig,
  users: readonly Cluster[],
  context: Context,
): Promise<void> {
  const names = users.slice(0, 10).map((cluster) => keyText(cluster.metadata));
  const more = users.length > names.length ? ` and ${users.length - names.length} more` : '';
  const state = no('NotInUse', 'InUse', `Still used by ${names.join(', ')}${more}. It goes when they are gone.`);
  const generation = config.metadata.generation ?? 0;
  const status: NonNullable<ProviderConfig['status']> = {
    ...config.status,
    observedGeneration: generation,
    phase: phases.terminating,
    clusters: users.length,
    conditions: mergeConditions(config.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
  };
  await writeStatus(services.kube, ProviderConfig, config, status, context.signal);
}
