import { setTimeout as delay } from 'node:timers/promises';
import { AccessRequest, Cluster } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { isNotFound } from '../../../../src/kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../../src/kube/resource.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';

/** Changes with each nudge. */
export const triggerAnnotation = 'example.org/nudged';

/** Machines count their failures step by step, and what others write on them costs them a step. */
const triggeredKinds: readonly ResourceType<KubeObject>[] = [ProviderConfig, Cluster, AccessRequest];
const everyMs = 400;

/**
 * Touches objects now and then, so that the provider looks at it again. Where each call of a reconcile fails once, the
 * wait after each failure is twice the one before, up to minutes; that it waits so is held elsewhere. Returns how to stop.
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
