import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import type { ClusterView } from '../../cluster/view.ts';
import { hostStatusOf } from '../../host/availability.ts';
import { createPlatformContexts } from '../../provider-config/check-platform.ts';
import type { Services } from '../../shared/services.ts';
import { choosePlatform } from '../../shared/spec/choose-platform.ts';

/**
 * Why the machine behind a Node may still run, although no Machine of its name exists: its Pods and volumes would then
 * start a second time. Undefined: its platform has nothing of it that runs. Asks the platform.
 */
export async function findMachineRemains(
  services: Services,
  { spec }: Pick<ClusterView, 'spec'>,
  name: string,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Log },
): Promise<string | undefined> {
  const { platforms, stores, installation, provider } = services;
  const host = stores.hosts.list().find((one) => hostStatusOf(one).machineRef?.name === name);
  if (host) return `Host ${host.metadata.name} is still held by it.`;
  const chosen = spec && choosePlatform(platforms, spec);
  if (!chosen) return 'Its platform is not known.';
  const { orphans } = chosen.platform.garbage ?? {};
  // A platform without this capability creates no machines: its servers are Hosts, which were checked above.
  if (!orphans) return undefined;
  const { contexts, missing } = createPlatformContexts(services, chosen, { signal, log });
  if (missing.length > 0) return missing[0];
  try {
    for (const context of contexts.values()) {
      const isKnown = (machine: string): boolean => machine !== name;
      const found = await orphans.find({ ...context, instance: { installation, provider }, isKnown });
      if (found.some(({ isRunning }) => isRunning)) return 'Its machine runs, or its state is not known.';
    }
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    return error.message;
  }
}
