import { expect, it } from 'vitest';
import { anInstance, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { instanceFinalizers } from '../../api/names.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Services } from '../shared/services.ts';
import { reconcileProviderConfig } from './controller.ts';

/** A process whose cache keeps the first version of one ProviderConfig, whose platform is not known. */
function openProcess() {
  const { metadata } = aProviderConfig();
  const cached: ProviderConfig = {
    ...aProviderConfig(),
    metadata: { ...metadata, resourceVersion: '1', finalizers: [instanceFinalizers(anInstance).providerConfig] },
  };
  let current = cached;
  const events: string[] = [];
  const platforms = [{ name: 'robot' }];
  const services = {
    ...{ ...anInstance, platforms, clock: new ManualClock() },
    stores: { providerConfigs: { get: () => cached }, clusters: { by: () => [] } },
    kube: {
      merge: async (...[, , patch]: Parameters<KubeClient['merge']>) => {
        const resourceVersion = String(Number(current.metadata.resourceVersion) + 1);
        const metadata = { ...current.metadata, resourceVersion };
        const { status } = patch as { readonly status: NonNullable<ProviderConfig['status']> };
        current = { ...current, metadata, status: { ...current.status, ...status } };
        return await Promise.resolve(current);
      },
    },
    events: { record: (_: unknown, type: string, reason: string) => void events.push(`${type} ${reason}`) },
  } as unknown as Services;
  const context = { signal: new AbortController().signal, log: { warn() {}, info() {} } } as never;
  return {
    events,
    platforms,
    reconcile: () => reconcileProviderConfig(services, {} as never, { name: 'home' }, context),
  };
}

it('reports a problem in one Event, also when the cache lags behind the first report', async () => {
  const { events, platforms, reconcile } = openProcess();
  await reconcile();
  // The message names the known platforms.
  platforms.push({ name: 'kvm' });
  await reconcile();
  expect(events).toEqual(['Warning InvalidConfig']);
});
