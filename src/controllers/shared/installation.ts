import { installationName } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ConfigMap, Namespace } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';

/** What the resources of this installation on shared hardware are marked with. */
export interface Installation {
  /** UID of the platform cluster's `kube-system`; after an import, that of the former platform cluster. */
  readonly id: string;
  /**
   * This platform cluster has taken the place of another one. Machines may run that bear its marks and that nothing here
   * knows, because their cluster was not imported.
   */
  readonly isImported: boolean;
}

/** The key in the ConfigMap. */
export const installationKey = 'id';

interface InstallationReader {
  readonly kube: Pick<KubeClient, 'find' | 'get'>;
  /** The provider's own namespace. */
  readonly namespace: string;
}

/** Throws a KubeError if the API server does not answer or refuses. */
export async function readInstallation(
  { kube, namespace }: InstallationReader,
  signal: AbortSignal,
): Promise<Installation> {
  const imported = await kube.find(ConfigMap, { namespace, name: installationName }, signal);
  const id = imported?.data?.[installationKey];
  if (id) return { id, isImported: true };
  const { uid } = (await kube.get(Namespace, { name: 'kube-system' }, signal)).metadata;
  if (uid) return { id: uid, isImported: false };
  throw new ProviderError('INTERNAL', 'The namespace kube-system of the platform cluster has no UID.');
}

export interface AwaitInstallationOptions extends InstallationReader {
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

const backoff = { baseSeconds: 1, capSeconds: 30 };

/**
 * Nothing works without it, so the request is retried until it succeeds; a restart of the process would take longer.
 * `undefined` if the signal aborts first.
 */
export async function awaitInstallation(
  options: AwaitInstallationOptions,
  signal: AbortSignal,
): Promise<Installation | undefined> {
  const { clock, log, random = Math.random } = options;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await readInstallation(options, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
      log.warn({ error: error.message, failures }, 'the identity of this installation cannot be read');
    }
    // Rejects only when the signal aborts, which the loop checks next.
    await clock.sleep(backoffSeconds(failures, { ...backoff, random }) * 1000, signal).catch(() => {});
  }
  return undefined;
}
