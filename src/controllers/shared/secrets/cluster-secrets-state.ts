import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { type ErrorCode, ProviderError } from '../../../lib/errors.ts';
import { clusterIdentityOf, describeForeignSecret } from '../../cluster/ownership.ts';
import { clusterRecordKey, readClusterRecord, withClusterRecord } from './cluster-record.ts';
import { type ClusterSecrets, readClusterSecrets } from './cluster-secrets.ts';

/** Why the secrets of a cluster cannot be used, and what to do about it. */
export interface ClusterSecretsProblem {
  readonly reason: 'SecretsMissing' | 'SecretsDiffer' | 'SecretsDamaged' | 'NameCollision';
  readonly message: string;
}

/** `none`: nothing of the cluster exists yet, so its secrets may be made. */
export type ClusterSecretsState =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly secrets: ClusterSecrets }
  | { readonly kind: 'unusable'; readonly trouble: ClusterSecretsProblem };

export interface ClusterSecretsInput {
  /** The Secret itself. */
  readonly object: KubeSecret | undefined;
  /** `namespace/name` of it, for people. */
  readonly place: string;
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
}

/** How the Secret of a cluster stands to what else is known of that cluster. */
export function assessClusterSecrets({ object, place, cluster, machines }: ClusterSecretsInput): ClusterSecretsState {
  if (!object) return assessMissingSecret(place, cluster, machines);
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
  if (record && record.talosCa !== secrets.talosCa) {
    const [found, recorded] = [secrets.talosCa, record.talosCa].map((hash) => hash.slice(0, 16));
    const message = `Secret ${place} holds the secrets of another cluster: the SHA-256 of its Talos CA begins with ${found}, that of this cluster with ${recorded}. It is not used. ${restoreInstructions}`;
    return unusable('SecretsDiffer', message);
  }
  const bootstrappedAt = bootstrapObservedAt(cluster, machines);
  return {
    kind: 'usable',
    secrets: withClusterRecord(secrets, { ...(bootstrappedAt && { bootstrappedAt }), ...record }),
  };
}

/** The secrets where they can be used. Throws a ProviderError that says what is wrong and what to do. */
export function requireClusterSecrets(state: ClusterSecretsState, place: string): ClusterSecrets {
  if (state.kind === 'usable') return state.secrets;
  throw clusterSecretsErrorOf(state) ?? new ProviderError('CLUSTER_SECRETS_MISSING', `There is no Secret ${place}.`);
}

/** Why they cannot be used, if there is anything that they are needed for. */
export const clusterSecretsErrorOf = (state: ClusterSecretsState): ProviderError | undefined =>
  state.kind === 'unusable' ? new ProviderError(errorCodes[state.trouble.reason], state.trouble.message) : undefined;

const errorCodes: Readonly<Record<ClusterSecretsProblem['reason'], ErrorCode>> = {
  SecretsMissing: 'CLUSTER_SECRETS_MISSING',
  SecretsDiffer: 'CLUSTER_SECRETS_DIFFER',
  SecretsDamaged: 'CLUSTER_SECRETS_DAMAGED',
  NameCollision: 'NAME_COLLISION',
};

const restoreInstructions =
  'Nothing is made, changed or deleted meanwhile. Restore the Secret from a backup, which may be older than the cluster’s last change: the bundle in it never changes. Without a backup, delete this Cluster: its machines are taken down without it.';

function assessMissingSecret(place: string, cluster: Cluster, machines: readonly Machine[]): ClusterSecretsState {
  const evidence = describeExistingParts(cluster, machines);
  if (evidence.length === 0) return { kind: 'none' };
  const message = `Secret ${place} does not exist, and the cluster that it belongs to does: ${evidence.join(', ')}. ${restoreInstructions}`;
  return unusable('SecretsMissing', message);
}

const unusable = (reason: ClusterSecretsProblem['reason'], message: string): ClusterSecretsState => ({
  kind: 'unusable',
  trouble: { reason, message },
});

const maxNamedMachines = 3;

/** What proves that secrets were made for this cluster before. */
function describeExistingParts({ status }: Cluster, machines: readonly Machine[]): string[] {
  const found: string[] = [];
  const names = machines.slice(0, maxNamedMachines).map(({ metadata }) => metadata.name);
  const more = machines.length > maxNamedMachines ? ` and ${machines.length - maxNamedMachines} more` : '';
  if (names.length > 0) found.push(`there are Machines (${names.join(', ')}${more})`);
  // Versions before the record told of the secrets by this.
  const told = status?.providerStatus ?? {};
  if (told[clusterRecordKey] !== undefined || told['kubernetesVersion'] !== undefined)
    found.push('its status records that its secrets were made');
  if (status?.apiServer || status?.endpoints?.length) found.push('its status names an endpoint');
  return found;
}

/** When etcd was seen to have members, as far as the Cluster or a Machine tells: no node joins before. */
function bootstrapObservedAt(cluster: Cluster, machines: readonly Machine[]): string | undefined {
  const { conditions } = cluster.status ?? {};
  const said = isConditionTrue(conditions, 'Bootstrapped') && conditions?.find(({ type }) => type === 'Bootstrapped');
  if (said) return said.lastTransitionTime;
  const joined = machines.find(({ status }) => status?.progress?.facts['joined'] === true)?.status;
  const since = joined?.conditions.find(({ type }) => type === 'Joined')?.lastTransitionTime;
  return since ?? joined?.progress?.since;
}
