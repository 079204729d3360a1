import type { AccessRequest, Cluster } from '../../api/openmcp/types.ts';
import type { LogFields } from '../../lib/log.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { KubeconfigInputs } from './access-secret.ts';
import type { DesiredAccess } from './target-cluster/desired-access.ts';

/** The next action for a request. `settled`: nothing more can be done now, and the result is reported. */
export type AccessRequestDecision =
  | RequestAction
  | GrantAction
  | RevocationAction
  | { readonly kind: 'settled'; readonly report: AccessRequestReport };

/** `message`: the log line when it is done. */
export type RequestAction =
  | { readonly kind: 'consume-operation' }
  | { readonly kind: 'add-finalizer' }
  | { readonly kind: 'remove-finalizer'; readonly message?: string }
  | { readonly kind: 'find-target' };

export type GrantAction =
  | { readonly kind: 'ensure-objects'; readonly access: DesiredAccess }
  /** `roles`: the account stays, without rights. */
  | { readonly kind: 'remove-objects'; readonly scope: 'all' | 'roles' }
  | { readonly kind: 'seek-secret' }
  | { readonly kind: 'read-signing-keys' }
  | { readonly kind: 'issue-token'; readonly inputs: KubeconfigInputs; readonly isNew: boolean }
  | {
      readonly kind: 'write-oidc-secret';
      readonly issuer: string;
      readonly kubeconfig: SecretString;
      readonly isNew: boolean;
    }
  | { readonly kind: 'remove-secret' };

export type RevocationAction =
  /** `onlyOfProvider`: a Secret that names another provider stays. */
  | { readonly kind: 'revoke-secret'; readonly onlyOfProvider?: string }
  | { readonly kind: 'read-revocation-need' }
  | { readonly kind: 'revoke-objects' }
  | { readonly kind: 'check-cluster-loss' };

/** The result of a reconcile after which nothing more can be done now. */
export interface AccessRequestReport {
  /** Undefined: only a change makes the request due. */
  readonly requeueAfterSeconds?: number;
  /** Undefined: the status stays as it is. */
  readonly status?: NonNullable<AccessRequest['status']>;
  readonly warning?: {
    readonly about: AccessRequest | Cluster;
    readonly reason: string;
    readonly message: string;
  };
  readonly log?: { readonly level: 'info' | 'warn'; readonly fields: LogFields; readonly message: string };
}

/** The times that a decision depends on. */
export interface DecisionTime {
  readonly now: Date;
  readonly secondsUntilResync: number;
}

export const settled = (report: AccessRequestReport = {}): AccessRequestDecision => ({ kind: 'settled', report });
