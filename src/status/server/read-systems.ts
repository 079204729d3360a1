import type { ProviderConfig } from '../../api/provider-config.ts';
import { isOwnConfig } from '../../controllers/cluster/view.ts';
import { createPlatformContexts } from '../../controllers/provider-config/check-platform.ts';
import type { Services } from '../../controllers/shared/services.ts';
import { choosePlatform } from '../../controllers/shared/spec/choose-platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SystemJson } from '../api-types.ts';
import { shorten } from '../views/status-sources.ts';

/** Number of systems that are read. */
const maxSystems = 50;

interface SystemReading extends Omit<SystemJson, 'configs'> {
  readonly config: string;
}

/** What is left of the systems of all ProviderConfigs. One that several of them name is listed once. */
export async function readSystems(services: Services, signal: AbortSignal): Promise<readonly SystemJson[]> {
  const configs = services.stores.providerConfigs.list().filter((config) => isOwnConfig(services, config));
  const readings = await Promise.all(
    configs.slice(0, maxSystems).map((config) => readConfig(services, config, signal)),
  );
  const bySystem = new Map<string, SystemJson>();
  for (const { config, ...reading } of readings.flat()) {
    const known = bySystem.get(reading.system);
    // ProviderConfigs may use different pools of one system.
    const names = new Set(known?.volumes.map(({ name }) => name));
    const volumes = [...(known?.volumes ?? []), ...reading.volumes.filter(({ name }) => !names.has(name))];
    const { problem: _, ...rest } = known ?? reading;
    const problem = known && !known.problem ? undefined : reading.problem;
    const all = [...new Set([...(known?.configs ?? []), config])];
    bySystem.set(reading.system, { ...reading, ...rest, volumes, configs: all, ...(problem ? { problem } : {}) });
  }
  return [...bySystem.values()].sort((a, b) => (a.system < b.system ? -1 : 1)).slice(0, maxSystems);
}

async function readConfig(
  services: Services,
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<readonly SystemReading[]> {
  const chosen = choosePlatform(services.platforms, config.spec);
  const { name } = config.metadata;
  const { usage } = chosen?.platform ?? {};
  if (!chosen || !usage) return [];
  const { contexts } = createPlatformContexts(services, chosen, { signal, log: services.log });
  return await Promise.all(
    [...contexts].map(async ([failureDomain, context]): Promise<SystemReading> => {
      try {
        return { config: name, ...(await usage.read(context)) };
      } catch (error) {
        // Only errors with a code have a message for users.
        const problem = error instanceof ProviderError ? shorten(error.message) : 'It could not be read.';
        return { config: name, system: failureDomain ?? name, volumes: [], problem };
      }
    }),
  );
}
