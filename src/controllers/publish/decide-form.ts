import type { ConditionReason } from '../../api/conditions.ts';
import type { Secret } from '../../kube/core-types.ts';
import type { KubeconfigInputs } from '../access-request/access-secret.ts';
import type { TargetCluster, TargetClusterLookup } from '../access-request/find-target-cluster.ts';
import type { SigningKeyIds } from '../access-request/target-cluster/signing-key-cache.ts';
import type { Publication } from './publication.ts';
import { classifyPublished, findPublishedRenewal, hasMarks } from './published-secret.ts';

/** Why a form is not published. */
export interface PublicationProblem {
  readonly reason: ConditionReason;
  readonly message: string;
}

export const notStableYet: PublicationProblem = {
  reason: 'PublishPending',
  message: 'The Cluster is published once it has been ready for ten seconds.',
};

/**
 * The input of {@link decideForm}: what the caches say of one form of a Cluster, and what this reconcile has found out or
 * done, because it costs calls.
 */
export interface FormView {
  readonly publication: Publication;
  readonly provider: string;
  /** The provider's own namespace. */
  readonly ownNamespace: string;
  readonly target: TargetClusterLookup;
  /** The Cluster has been ready for long enough to be published the first time. */
  readonly isStable: boolean;
  readonly wasPublished: boolean;
  /** From the cache, or as this reconcile has written it. */
  readonly secret: Secret | undefined;
  /** The result of a search for the Secret at the API server. */
  readonly soughtSecret?: { readonly object: Secret | undefined };
  /** The account and its binding are in the cluster; the UID of the account. */
  readonly ensured?: { readonly account: string | undefined };
  readonly signingKeys?: { readonly ids: SigningKeyIds };
  /** The ClusterProfile, and what belongs to it, is as it should be. */
  readonly isProfileEnsured?: true;
  /** When the ClusterProfile may have to say something else about the health of the cluster. */
  readonly healthSeconds?: number | undefined;
  readonly problem?: PublicationProblem;
}

/** A form is published, with the time at which its token is to be renewed; or why not; or nothing is to be changed now. */
export type FormResult =
  | { readonly kind: 'published'; readonly renewalDue: Date; readonly healthSeconds?: number | undefined }
  | { readonly kind: 'problem'; readonly problem: PublicationProblem }
  | { readonly kind: 'waiting'; readonly problem: PublicationProblem };

export type FormAction =
  | { readonly kind: 'seek-secret' }
  /** Of an earlier Cluster of the same name: consumers must let that go first. */
  | { readonly kind: 'remove-former-secret'; readonly secret: Secret }
  | { readonly kind: 'ensure-access'; readonly target: TargetCluster }
  | { readonly kind: 'read-signing-keys'; readonly target: TargetCluster }
  | { readonly kind: 'issue-token'; readonly target: TargetCluster; readonly inputs: KubeconfigInputs }
  | { readonly kind: 'restore-marks'; readonly secret: Secret }
  | { readonly kind: 'ensure-profile'; readonly target: TargetCluster }
  /** The cluster does not answer: its ClusterProfile says so after a while. */
  | { readonly kind: 'report-health' };

export type FormDecision = FormAction | { readonly kind: 'settled'; readonly result: FormResult };

/** The next action for one form. The Secret is looked at first, so that nothing is made for a name that is not free. */
export function decideForm(view: FormView, now: Date): FormDecision {
  const { publication, target, problem } = view;
  if (problem) return settle({ kind: 'problem', problem });
  if (publication.namespace === view.ownNamespace)
    return settle({ kind: 'problem', problem: ownNamespaceProblem(view) });
  if ('waiting' in target) {
    if (publication.inventory && view.wasPublished && !view.isProfileEnsured) return { kind: 'report-health' };
    const { reason, message = '' } = target.waiting;
    return settle({ kind: 'waiting', problem: { reason, message } });
  }
  if (!view.wasPublished && !view.isStable) return settle({ kind: 'waiting', problem: notStableYet });
  return decideSecret(view, target) ?? decideContent(view, target, now);
}

function decideSecret(view: FormView, target: TargetCluster): FormDecision | undefined {
  const { publication, provider, secret, soughtSecret } = view;
  if (!secret && !soughtSecret) return { kind: 'seek-secret' };
  const present = secret ?? soughtSecret?.object;
  if (present) {
    const owner = classifyPublished(present, publication, provider);
    if (owner === 'other') return settle({ kind: 'problem', problem: foreignProblem('Secret', present) });
    if (present.metadata.deletionTimestamp)
      return settle({ kind: 'problem', problem: describeHeld('Secret', present) });
    if (owner === 'former') return { kind: 'remove-former-secret', secret: present };
    const problem = findWriteProblem(present);
    if (problem) return settle({ kind: 'problem', problem });
  }
  return view.ensured ? undefined : { kind: 'ensure-access', target };
}

function decideContent(view: FormView, target: TargetCluster, now: Date): FormDecision {
  const { publication, provider, secret, soughtSecret, ensured, signingKeys } = view;
  const inputs = { server: target.server, account: ensured?.account };
  const present = secret ?? soughtSecret?.object;
  if (!present) return { kind: 'issue-token', target, inputs };
  if (!signingKeys) return { kind: 'read-signing-keys', target };
  const due = findPublishedRenewal(present, publication.form, inputs, signingKeys.ids, now);
  if (!due || due <= now) return { kind: 'issue-token', target, inputs };
  if (!hasMarks(present, publication, provider)) return { kind: 'restore-marks', secret: present };
  if (publication.inventory && !view.isProfileEnsured) return { kind: 'ensure-profile', target };
  return settle({ kind: 'published', renewalDue: due, healthSeconds: view.healthSeconds });
}

const settle = (result: FormResult): FormDecision => ({ kind: 'settled', result });

function ownNamespaceProblem({ publication, ownNamespace }: FormView): PublicationProblem {
  const field = `spec.publish.${publication.form}.namespace`;
  const message = `${field}: ${ownNamespace} is the namespace of the provider, whose Secrets a consumer must not read. Use another one.`;
  return { reason: 'InvalidConfig', message };
}

/** The API server rejects every change of such a Secret. */
function findWriteProblem({ immutable, type = 'Opaque', metadata }: Secret): PublicationProblem | undefined {
  if (immutable !== true && type === 'Opaque') return undefined;
  const what = immutable === true ? 'is immutable' : `has the type ${type} instead of Opaque`;
  const message = `Secret ${metadata.name} in namespace ${metadata.namespace} ${what}: it cannot be written. Remove it; it is created again.`;
  return { reason: 'SecretNotWritable', message };
}

interface NamedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly finalizers?: readonly string[];
  };
}

export const foreignProblem = (kind: string, { metadata }: NamedObject): PublicationProblem => ({
  reason: 'NotManaged',
  message: `${kind} ${metadata.name} exists in namespace ${metadata.namespace} and was not made for this Cluster: it is not changed. Remove it, or use another namespace.`,
});

/** A published object that is being deleted and does not go. */
export function describeHeld(kind: string, { metadata }: NamedObject): PublicationProblem {
  const { name, namespace, finalizers = [] } = metadata;
  const object = `${kind} ${name} in namespace ${namespace}`;
  return finalizers.length === 0
    ? { reason: 'Withdrawing', message: `${object} is being deleted.` }
    : {
        reason: 'WithdrawalHeld',
        message: `${object} is being deleted and is held by ${finalizers.join(', ')}. Its consumer has to remove that finalizer.`,
      };
}
