import type { KubeClient } from '../../kube/client/client.ts';
import { Namespace } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';

export interface InstallationIdOptions {
  readonly kube: Pick<KubeClient, 'get'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

const backoff = { baseSeconds: 1, capSeconds: 30 };

/**
 * The id that marks this installation's resources on shared hardware: the UID of the platform cluster's `kube-system`.
 * Nothing works without it, so the request is retried until it succeeds; a restart of the process would take longer.
 * `undefined` if the signal aborts first.
 */
export async function awaitInstallationId(
  options: InstallationIdOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { kube, clock, log, random = Math.random } = options;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const { uid } = (await kube.get(Namespace, { name: 'kube-system' }, signal)).metadata;
      if (uid) return uid;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof KubeError)) throw error;
      log.warn({ error: error.message, failures }, 'the UID of the namespace kube-system cannot be read');
    }
    // Rejects only when the signal aborts, which the loop checks next.
    await clock.sleep(backoffSeconds(failures, { ...backoff, random }) * 1000, signal).catch(() => {});
  }
  return undefined;
}
