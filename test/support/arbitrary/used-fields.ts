import type { RawProviderConfigSpec } from './provider-config.ts';

/** Fields whose values are distinguished, and not only their presence. */
const isDistinctValue = (value: unknown): boolean =>
  typeof value === 'boolean' || value === 'NoSchedule' || value === 'PreferNoSchedule' || value === 'NoExecute';

/**
 * The fields that a spec uses, e.g. `network.timeServers[]` or `workerPools[].taints[].effect=NoExecute`. A patch
 * counts as one field, whatever its content; so do maps.
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
