import type { KubeClient } from '../../kube/client/client.ts';
import { isConflict, isRetryable } from '../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';

export interface InstallContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The timeout of all objects together. */
  readonly timeoutSeconds: number;
}

/**
 * An object that `init` maintains on the API server. An existing object without the label, or with another value of it,
 * has another owner.
 */
export interface OwnedObject {
  readonly type: ResourceType<InstallableObject>;
  readonly object: InstallableObject;
  readonly label: string;
  readonly rejectionReason: ErrorCode;
  /** Its name in the log. */
  readonly called: string;
}

interface InstallableObject extends KubeObject {
  spec: Record<string, unknown>;
}

export const installDeadline = ({ clock, timeoutSeconds }: Pick<InstallContext, 'clock' | 'timeoutSeconds'>): number =>
  clock.monotonic() + timeoutSeconds * 1000;

export type RetryUntilDeadline = <T>(work: () => Promise<T>) => Promise<T>;

/** Retries after a conflict or while the API server is unavailable, until the deadline. */
export function createRetry(context: InstallContext, endsAt = installDeadline(context)): RetryUntilDeadline {
  return (work) => retryUntil(endsAt, context, work);
}

/** The existing object, once it is known that it may be changed. Throws the ownership error otherwise. */
export async function findOwnedObject(
  { type, object, label, rejectionReason }: OwnedObject,
  { client, signal }: InstallContext,
): Promise<InstallableObject | undefined> {
  const { name, labels } = object.metadata;
  const found = await client.find(type, { name }, signal);
  const wanted = labels?.[label];
  const present = found?.metadata.labels?.[label];
  if (found === undefined || present === wanted) return found;
  throw new ProviderError(
    rejectionReason,
    `${name} ${present === undefined ? 'has no label' : `has the value ${present} of the label`} ${label}. If it belongs to this provider, set the label ${label}=${wanted}; otherwise remove it, or use another cluster.`,
  );
}

/**
 * An object that was read as owned is applied with force, but only at that resourceVersion. A missing object is applied
 * without force: if another client creates it first, that is a conflict, and the object is read again.
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
  // The API server gives some kinds another resourceVersion although nothing has changed.
  const changed = after.metadata.generation !== found?.metadata.generation;
  const what = found === undefined ? 'installed' : changed ? 'updated' : 'is current';
  log.info({ object: name }, `${called} ${what}`);
}

const backoff = { baseSeconds: 0.1, capSeconds: 5 };

/** Retries after a conflict or while the API server is unavailable, until `endsAt`. */
async function retryUntil<T>(
  endsAt: number,
  { log, signal, clock }: InstallContext,
  work: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      const worthwhile = isConflict(error) || isRetryable(error);
      if (!worthwhile || signal.aborted || clock.monotonic() >= endsAt) throw error;
      log.debug({ error }, 'request is retried');
      await clock.sleep(backoffSeconds(failures, backoff) * 1000, signal);
    }
  }
}
