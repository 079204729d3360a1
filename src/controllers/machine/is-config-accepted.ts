import { findFalseCondition } from '../../api/conditions.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';

/** Whether the platform has accepted the current generation of the spec. */
export function isConfigAccepted(config: ProviderConfig | undefined): boolean {
  if (!config?.status || config.status.observedGeneration !== config.metadata.generation) return false;
  const refused =
    findFalseCondition(config.status.conditions, 'CredentialsValid') ??
    findFalseCondition(config.status.conditions, 'ConfigValid');
  // An unreachable platform does not reject the spec.
  return refused === undefined || refused.reason === 'PlatformUnreachable';
}
