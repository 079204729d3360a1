import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { type ErrorCode, ProviderError } from '../../../lib/errors.ts';
import { describeForeignSecret } from '../../cluster/describe-foreign-object.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import { clusterRecordKey, findForeignAuthority, readClusterRecord, withClusterRecord } from './cluster-record.ts';
import { type ClusterSecrets, readClusterSecrets } from './cluster-secrets.ts';

/** Why the secrets of a cluster cannot be used, and what a user can do. */
export interface ClusterSecretsProblem {
  readonly reason: 'SecretsMissing' | 'SecretsDiffer' | 'SecretsDamaged' | 'NameCollision';
  readonly message: string;
}

/** `none`: nothing of the cluster exists yet, so its secrets may be created. */
export type ClusterSecretsState =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly secrets: ClusterSecrets }
  | { readonly kind: 'unusable'; readonly problem: ClusterSecretsProblem };

export interface ClusterSecretsInput {
  readonly object: KubeSecret | undefined;
  /** `namespace/name` of the Secret, for messages. */
  readonly secretRef: string;
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
}

/** Checks whether the Secret of a cluster agrees with everything else that is known of the cluster. */
export function assessClusterSecrets({
  object,
  secretRef,
  cluster,
  machines,
}: ClusterSecretsInput): ClusterSecretsState {
  if (!object) return assessMissingSecret(secretRef, cluster, machines);
  const collision = describeForeignSecret(object, clusterIdentityOf(cluster));
  if (collision !== undefined) return unusable('NameCollision', collision);
  let secrets: ClusterSecrets;
  try {
    secrets = readClusterSecrets(object);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return unusable('SecretsDamaged', error.message);
  }
  const record = readClusterRecord(cluster);
  const foreign = record && findForeignAuthority(secrets, record);
  if (foreign) {
    const { name } = foreign;
    const [found, recorded] = [foreign.found, foreign.recorded].map((hash) => hash.slice(0, 16));
    const message = `Secret ${secretRef} has the secrets of another cluster, or former ones of this cluster: the SHA-256 of its ${name} CA begins with ${found}, that of this cluster with ${recorded}. It is not used. ${restoreInstructions}`;
    return unusable('SecretsDiffer', message);
  }
  const bootstrappedAt = bootstrapObservedAt(cluster, machines);
  return {
    kind: 'usable',
    secrets: withClusterRecord(secrets, { ...(bootstrappedAt && { bootstrappedAt }), ...record }),
  };
}

/** Returns usable secrets. Throws a ProviderError with the problem and its solution. */
export function requireClusterSecrets(state: ClusterSecretsState, place: string): ClusterSecrets {
  if (state.kind === 'usable') return state.secrets;
  throw clusterSecretsErrorOf(state) ?? new ProviderError('CLUSTER_SECRETS_MISSING', `There is no Secret ${place}.`);
}

/** Why the secrets cannot be used; undefined if they can, or if none are needed yet. */
export const clusterSecretsErrorOf = (state: ClusterSecretsState): ProviderError | undefined =>
  state.kind === 'unusable' ? new ProviderError(errorCodes[state.problem.reason], state.problem.message) : undefined;

const errorCodes: Readonly<Record<ClusterSecretsProblem['reason'], ErrorCode>> = {
  SecretsMissing: 'CLUSTER_SECRETS_MISSING',
  SecretsDiffer: 'CLUSTER_SECRETS_DIFFER',
  SecretsDamaged: 'CLUSTER_SECRETS_DAMAGED',
  NameCollision: 'NAME_COLLISION',
};

const restoreInstructions =
  'Nothing is created, changed or deleted until then. Restore the Secret from a backup of any age: only a rotation of its certificate authorities changes it, and then a backup from after the last rotation is needed. Without a backup, delete this Cluster: its machines can be deleted without the Secret.';

function assessMissingSecret(place: string, cluster: Cluster, machines: readonly Machine[]): ClusterSecretsState {
  const evidence = describeExistingParts(cluster, machines);
  if (evidence.length === 0) return { kind: 'none' };
  const message = `Secret ${place} does not exist, but its cluster does: ${evidence.join(', ')}. ${restoreInstructions}`;
  return unusable('SecretsMissing', message);
}

const unusable = (reason: ClusterSecretsProblem['reason'], message: string): ClusterSecretsState => ({
  kind: 'unusable',
  problem: { reason, message },
});

const maxNamedMachines = 3;

/** Evidence that secrets were created for this cluster before. */
function describeExistingParts({ status }: Cluster, machines: readonly Machine[]): string[] {
  const found: string[] = [];
  const names = machines.slice(0, maxNamedMachines).map(({ metadata }) => metadata.name);
  const more = machines.length > maxNamedMachines ? ` and ${machines.length - maxNamedMachines} more` : '';
  if (names.length > 0) found.push(`Machines exist (${names.join(', ')}${more})`);
  // Versions from before the record wrote only this.
  const providerStatus = status?.providerStatus ?? {};
  if (providerStatus[clusterRecordKey] !== undefined || providerStatus['kubernetesVersion'] !== undefined)
    found.push('its status records the creation of its secrets');
  if (status?.apiServer || status?.endpoints?.length) found.push('its status has an endpoint');
  return found;
}

/** When etcd was observed with members, according to the Cluster or a Machine: no node joins before that. */
function bootstrapObservedAt(cluster: Cluster, machines: readonly Machine[]): string | undefined {
  const { conditions } = cluster.status ?? {};
  const condition =
    isConditionTrue(conditions, 'Bootstrapped') && conditions?.find(({ type }) => type === 'Bootstrapped');
  if (condition) return condition.lastTransitionTime;
  const joined = machines.find(({ status }) => status?.progress?.facts['joined'] === true)?.status;
  const since = joined?.conditions.find(({ type }) => type === 'Joined')?.lastTransitionTime;
  return since ?? joined?.progress?.since;
}
