import { findFalseCondition } from '../../api/conditions.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import { changedBeyondStatus } from '../shared/objects.ts';

/** Whether the platform has accepted the current generation of the spec. */
export function isConfigAccepted(config: ProviderConfig | undefined): boolean {
  if (!config?.status || config.status.observedGeneration !== config.metadata.generation) return false;
  const refused =
    findFalseCondition(config.status.conditions, 'CredentialsValid') ??
    findFalseCondition(config.status.conditions, 'ConfigValid');
  // An unreachable platform does not reject the spec.
  return refused === undefined || refused.reason === 'PlatformUnreachable';
}

/** Whether a changed ProviderConfig has just been assessed: nothing is done with a spec before that. */
export function wasConfigAssessed(change: ObjectChange<ProviderConfig>): boolean {
  const { object, before } = change;
  const isAssessed = ({ metadata, status }: ProviderConfig) => status?.observedGeneration === metadata.generation;
  if (!isAssessed(object)) return false;
  const isAccepted = isConfigAccepted(object) && !isConfigAccepted(before);
  return isAccepted || changedBeyondStatus(change) || (before !== undefined && !isAssessed(before));
}
