import { openmcp } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { CustomResourceDefinition } from '../kube/core-types.ts';
import { isConflict, isPassing } from '../kube/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

export interface InstallOptions {
  readonly client: KubeClient;
  readonly crds: readonly CustomResourceDefinition[];
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** For everything together. */
  readonly patienceSeconds: number;
}

/**
 * Makes every CRD so and waits until all are served. Looks first at all of them: if one belongs to somebody else,
 * nothing is changed and a `CRD_OWNED_BY_OTHERS` is thrown. Two of these at once do no harm: each writes only over
 * the version that it looked at, and looks again when it lost. Throws `CRD_NOT_ESTABLISHED` when patience ends.
 */
export async function installCrds(options: InstallOptions): Promise<void> {
  const endsAt = endOf(options);
  const persist = persistently(options, endsAt);
  for (const crd of options.crds) await persist(() => findOurs(crd, options));
  for (const crd of options.crds) await persist(() => ensureCrd(crd, options));
  await awaitServed(options, endsAt);
}

const endOf = ({ clock, patienceSeconds }: Pick<InstallOptions, 'clock' | 'patienceSeconds'>): number =>
  clock.monotonic() + patienceSeconds * 1000;

type Persist = <T>(work: () => Promise<T>) => Promise<T>;

/** Tries again, as long as patience lasts, what lost a race or met an API server that is not up. */
export function persistently(options: Omit<InstallOptions, 'crds'>, endsAt = endOf(options)): Persist {
  return (work) => persistUntil(endsAt, options, work);
}

/** Waits until all are served. Throws `CRD_NOT_ESTABLISHED` when patience ends. */
export async function awaitServed(options: InstallOptions, endsAt = endOf(options)): Promise<void> {
  const persist = persistently(options, endsAt);
  for (const crd of options.crds) await awaitEstablished(crd, endsAt, options, persist);
}

/** The CRD as it is, once it is sure that it may be changed. */
async function findOurs(
  { metadata: { name } }: CustomResourceDefinition,
  { client, signal }: InstallOptions,
): Promise<CustomResourceDefinition | undefined> {
  const found = await client.find(CustomResourceDefinition, { name }, signal);
  const label = found?.metadata.labels?.[openmcp.crdCluster];
  if (found === undefined || label === 'platform') return found;
  throw new ProviderError(
    'CRD_OWNED_BY_OTHERS',
    `${name} ${label === undefined ? 'has no label' : `has the value ${label} of the label`} ${openmcp.crdCluster}. If it is this provider's, label it ${openmcp.crdCluster}=platform; else remove it or use another cluster.`,
  );
}

/**
 * What was seen to be ours is taken over with force, but only at the version that was seen. What was not there is
 * applied without force: should somebody else be faster, that is a conflict, and we look again.
 */
async function ensureCrd(crd: CustomResourceDefinition, options: InstallOptions): Promise<void> {
  const { client, log, signal } = options;
  const { name, labels } = crd.metadata;
  const found = await findOurs(crd, options);
  const before = found?.metadata.resourceVersion;
  const { spec } = crd;
  const after = await client.apply(
    CustomResourceDefinition,
    { metadata: { name, ...(labels && { labels }), ...(before && { resourceVersion: before }) }, spec },
    { force: found !== undefined },
    signal,
  );
  const changed = after.metadata.resourceVersion !== before;
  log.info({ crd: name }, found === undefined ? 'CRD installed' : changed ? 'CRD updated' : 'CRD is current');
}

async function awaitEstablished(
  { metadata: { name } }: CustomResourceDefinition,
  endsAt: number,
  { client, clock, signal }: InstallOptions,
  persist: Persist,
): Promise<void> {
  for (;;) {
    const crd = await persist(() => client.get(CustomResourceDefinition, { name }, signal));
    const conditions = crd.status?.conditions ?? [];
    if (conditions.some((condition) => condition.type === 'Established' && condition.status === 'True')) return;
    if (clock.monotonic() >= endsAt) {
      const refusal = conditions.find((condition) => condition.status === 'False' && condition.message);
      throw new ProviderError(
        'CRD_NOT_ESTABLISHED',
        `${name}: ${refusal?.message ?? 'the API server gave no reason.'}`,
      );
    }
    await clock.sleep(250, signal);
  }
}

/** Tries again what lost a race or met an API server that is not up, until time ends. */
async function persistUntil<T>(
  endsAt: number,
  options: Omit<InstallOptions, 'crds'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 5000)) {
    try {
      return await work();
    } catch (error) {
      const worthwhile = isConflict(error) || isPassing(error);
      if (!worthwhile || options.signal.aborted || options.clock.monotonic() >= endsAt) throw error;
      options.log.debug({ error }, 'trying again');
      await options.clock.sleep(pauseMs * (0.5 + Math.random()), options.signal);
    }
  }
}
