import type { KubeClient } from '../../kube/client/client.ts';
import { isConflict, isRetryable } from '../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';

export interface InstallContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** For everything together. */
  readonly patienceSeconds: number;
}

/** What `init` keeps so on the API server. What exists with another value of the label, or without it, is somebody else's. */
export interface OwnedObject {
  readonly type: ResourceType<InstallableObject>;
  readonly object: InstallableObject;
  readonly label: string;
  readonly refusal: ErrorCode;
  /** What it is called in the log. */
  readonly called: string;
}

interface InstallableObject extends KubeObject {
  spec: Record<string, unknown>;
}

export const installDeadline = ({
  clock,
  patienceSeconds,
}: Pick<InstallContext, 'clock' | 'patienceSeconds'>): number => clock.monotonic() + patienceSeconds * 1000;

export type RetryUntilDeadline = <T>(work: () => Promise<T>) => Promise<T>;

/** Tries again, as long as patience lasts, what lost a race or met an API server that is not up. */
export function createRetry(context: InstallContext, endsAt = installDeadline(context)): RetryUntilDeadline {
  return (work) => retryUntil(endsAt, context, work);
}

/** The object as it is, once it is sure that it may be changed. Throws the refusal where it may not. */
export async function findOwnedObject(
  { type, object, label, refusal }: OwnedObject,
  { client, signal }: InstallContext,
): Promise<InstallableObject | undefined> {
  const { name, labels } = object.metadata;
  const found = await client.find(type, { name }, signal);
  const wanted = labels?.[label];
  const present = found?.metadata.labels?.[label];
  if (found === undefined || present === wanted) return found;
  throw new ProviderError(
    refusal,
    `${name} ${present === undefined ? 'has no label' : `has the value ${present} of the label`} ${label}. If it is this provider's, label it ${label}=${wanted}; else remove it or use another cluster.`,
  );
}

/**
 * What was seen to be ours is taken over with force, but only at the version that was seen. What was not there is
 * applied without force: should somebody else be faster, that is a conflict, and we look again.
 */
export async function applyOwnedObject(owned: OwnedObject, context: InstallContext): Promise<void> {
  const { type, object, called } = owned;
  const { client, log, signal } = context;
  const { name, labels } = object.metadata;
  const found = await findOwnedObject(owned, context);
  const before = found?.metadata.resourceVersion;
  const { spec } = object;
  const after = await client.apply(
    type,
    { metadata: { name, ...(labels && { labels }), ...(before && { resourceVersion: before }) }, spec },
    { force: found !== undefined },
    signal,
  );
  const changed = after.metadata.resourceVersion !== before;
  const what = found === undefined ? 'installed' : changed ? 'updated' : 'is current';
  log.info({ object: name }, `${called} ${what}`);
}

/** Tries again what lost a race or met an API server that is not up, until time ends. */
async function retryUntil<T>(
  endsAt: number,
  { log, signal, clock }: InstallContext,
  work: () => Promise<T>,
): Promise<T> {
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 5000)) {
    try {
      return await work();
    } catch (error) {
      const worthwhile = isConflict(error) || isRetryable(error);
      if (!worthwhile || signal.aborted || clock.monotonic() >= endsAt) throw error;
      log.debug({ error }, 'trying again');
      await clock.sleep(pauseMs * (0.5 + Math.random()), signal);
    }
  }
}
