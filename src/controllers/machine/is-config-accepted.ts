import { findFalseCondition } from '../../api/conditions.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';

/** Whether the platform has what the spec names, as far as it was asked about this very generation. */
export function isConfigAccepted(config: ProviderConfig | undefined): boolean {
  if (!config?.status || config.status.observedGeneration !== config.metadata.generation) return false;
  const refused =
    findFalseCondition(config.status.conditions, 'CredentialsValid') ??
    findFalseCondition(config.status.conditions, 'ConfigValid');
  // Silence says nothing about the spec.
  return refused === undefined || refused.reason === 'PlatformUnreachable';
}
