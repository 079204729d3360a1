import type { ConditionReason } from '../../api/conditions.ts';
import { isRejection, isUnreachable } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SecretNotWritableError } from './access-secret.ts';
import { NotManagedError, TargetRejectionError } from './target-cluster/rejection-collector.ts';

/** An error that a user can fix, or that passes when the cluster answers: `WaitingForCluster`. */
export interface AccessFailure {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Undefined for an error that is not the user's or the cluster's. */
export function explainFailure(error: unknown): AccessFailure | undefined {
  if (error instanceof NotManagedError) return { reason: 'NotManaged', message: error.message };
  if (error instanceof SecretNotWritableError) return { reason: 'SecretNotWritable', message: error.message };
  const unreachable = explainUnreachable(error);
  if (unreachable) return unreachable;
  if (error instanceof TargetRejectionError) return { reason: 'TargetRejected', message: error.message };
  if (isRejection(error))
    return { reason: 'TargetRejected', message: `The cluster rejected the request: ${(error as Error).message}` };
  return undefined;
}

/** Undefined unless the cluster does not answer. */
export const explainUnreachable = (error: unknown): AccessFailure | undefined =>
  isUnreachable(error) || error instanceof ProviderError
    ? { reason: 'WaitingForCluster', message: `The cluster does not answer: ${(error as Error).message}` }
    : undefined;
