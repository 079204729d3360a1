import { stringify } from 'yaml';
import type { Machine } from '../../api/machine.ts';
import { diskKeySecretName } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret } from '../../kube/core-types.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';

/** What a backup is taken of. */
export interface BackedUpCluster {
  readonly secrets: Pick<ClusterSecrets, 'object' | 'bundle'>;
  readonly machines: readonly Machine[];
}

/**
 * The Secrets that a cluster cannot be brought back without, as manifests to apply: its certificate authorities and tokens,
 * and the keys of the disks of its Machines.
 */
export async function renderSecretManifests(
  { kube, namespace }: { readonly kube: Pick<KubeClient, 'find'>; readonly namespace: string },
  { secrets, machines }: BackedUpCluster,
  signal: AbortSignal,
): Promise<SecretString> {
  const found: Secret[] = [secrets.object];
  for (const { metadata } of machines) {
    const key = await kube.find(Secret, { namespace, name: diskKeySecretName(metadata.name) }, signal);
    if (key) found.push(key);
  }
  return new SecretString(found.map(renderManifest).join('---\n'));
}

/** The control planes that have an address. */
export const listControlPlanes = (machines: readonly Machine[]): { machine: string; address: string }[] =>
  machines.flatMap(({ spec, status, metadata }) =>
    spec.role === 'controlplane' && status?.address ? [{ machine: metadata.name, address: status.address }] : [],
  );

function renderManifest({ metadata, type, data }: Secret): string {
  const { name, namespace, labels, annotations } = metadata;
  return stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels, annotations },
    type,
    data,
  });
}
