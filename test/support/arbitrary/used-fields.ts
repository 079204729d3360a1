import type { RawProviderConfigSpec } from './provider-config.ts';

/** Values of these say more than that something was given. */
const isDistinctValue = (value: unknown): boolean =>
  typeof value === 'boolean' || value === 'NoSchedule' || value === 'PreferNoSchedule' || value === 'NoExecute';

/**
 * What a spec makes use of, e.g. `network.timeServers[]` or `workerPools[].taints[].effect=NoExecute`. A patch counts as one
 * thing, whatever it says; so do maps.
 */
export function usedFieldsOf(spec: RawProviderConfigSpec): Set<string> {
  const found = new Set<string>();
  collect(spec, '', found);
  return found;
}

function collect(value: unknown, path: string, found: Set<string>): void {
  if (Array.isArray(value)) {
    found.add(path);
    for (const element of value) collect(element, `${path}[]`, found);
  } else if (typeof value === 'object' && value !== null && !/(patches\[\]|labels)$/.test(path)) {
    for (const [key, child] of Object.entries(value)) collect(child, path === '' ? key : `${path}.${key}`, found);
  } else found.add(isDistinctValue(value) ? `${path}=${value}` : path);
}
