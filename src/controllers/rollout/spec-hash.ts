import { createHash } from 'node:crypto';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';

/** Identifies a merged spec, so that a Cluster can tell which of its Machines were compared with it. */
export const hashSpec = (spec: ProviderConfigSpec): string =>
  createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 16);
