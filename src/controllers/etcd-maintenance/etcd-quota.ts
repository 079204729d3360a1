import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** etcd's own default, which Talos does not change. */
const defaultQuotaBytes = 2 * 2 ** 30;

/** The size at which etcd accepts no more writes: `quota-backend-bytes` of the last patch that sets it. */
export function etcdQuotaOf({ talos, controlPlane }: Pick<ProviderConfigSpec, 'talos' | 'controlPlane'>): number {
  const patches: readonly unknown[] = [...talos.patches, ...controlPlane.patches];
  return patches.map(readQuota).findLast((quota) => quota !== undefined) ?? defaultQuotaBytes;
}

function readQuota(patch: unknown): number | undefined {
  const value = ['cluster', 'etcd', 'extraArgs', 'quota-backend-bytes'].reduce<unknown>(
    (part, key) => (typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[key] : undefined),
    patch,
  );
  const bytes = Number(value);
  return value !== undefined && Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}
