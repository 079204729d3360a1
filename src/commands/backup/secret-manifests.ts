import { stringify } from 'yaml';
import { diskKeySecretName } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { ClusterAccess } from '../access/find-cluster-access.ts';

/**
 * The Secrets that a cluster cannot be brought back without, as manifests to apply: its certificate authorities and tokens,
 * and the keys of the disks of its Machines.
 */
export async function renderSecretManifests(
  { kube, namespace, signal }: AccessSession,
  { secrets, machines }: ClusterAccess,
): Promise<SecretString> {
  const found: Secret[] = [secrets.object];
  for (const { metadata } of machines) {
    const key = await kube.find(Secret, { namespace, name: diskKeySecretName(metadata.name) }, signal);
    if (key) found.push(key);
  }
  return new SecretString(found.map(renderManifest).join('---\n'));
}

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
