import { setTimeout as delay } from 'node:timers/promises';
import { AccessRequest, Cluster } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { isNotFound } from '../../../../src/kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../../src/kube/resource.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';

/** Changes with each trigger. */
export const triggerAnnotation = 'example.org/nudged';

/** Machines count their failures for each step, and a foreign write costs them a step. */
const triggeredKinds: readonly ResourceType<KubeObject>[] = [ProviderConfig, Cluster, AccessRequest];
const everyMs = 400;

/**
 * Touches objects from time to time, which triggers their reconcile. Where each call of a reconcile fails once, the
 * backoff doubles after each failure, up to minutes; other tests check the backoff. Returns a function that stops the
 * triggers.
 */
export function triggerReconciles({ platform }: Testbed): () => Promise<void> {
  const stop = new AbortController();
  const touch = async (type: ResourceType<KubeObject>, object: KubeObject, value: string): Promise<void> => {
    try {
      await platform.merge(type, objectKeyOf(object), { metadata: { annotations: { [triggerAnnotation]: value } } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  };
  const nudging = (async () => {
    for (let round = 1; !stop.signal.aborted; round += 1) {
      for (const type of triggeredKinds) {
        for (const object of (await platform.list(type)).items) await touch(type, object, String(round));
      }
      await delay(everyMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  })();
  return async () => {
    stop.abort();
    await nudging;
  };
}
