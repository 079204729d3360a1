import type { KubeObject } from '../../../../kube/resource.ts';
import { ProviderError } from '../../../../lib/errors.ts';
import type { TalosClient } from '../../../../talos/client/client.ts';
import type { TalosCallOptions } from '../../../../talos/client/connection.ts';
import { resourceKinds, type TalosResource } from '../../../../talos/client/resources.ts';
import { isRecord } from '../../../../talos/config/config-document.ts';

/** Talos has about forty; users add some. */
const maxObjects = 1000;

/** The bootstrap manifests that a control plane renders for its configuration, in the order in which to apply them. */
export async function readManifests(node: TalosClient, options: TalosCallOptions): Promise<KubeObject[]> {
  const resources = await node.listResources(resourceKinds.manifest, options);
  const named = [...resources].sort((a, b) => (a.id < b.id ? -1 : 1));
  const objects = named.flatMap(toObjects);
  // A part of them would look as if the others had been dropped.
  if (objects.length > maxObjects)
    throw new ProviderError('TALOS_CALL_FAILED', `${node.address}: more than ${maxObjects} bootstrap manifests.`);
  return sortManifests(objects);
}

/** The YAML form is a list of objects, or an object with the list (`resources/k8s/manifest.go` of Talos). */
function toObjects({ spec }: TalosResource): KubeObject[] {
  const items = isRecord(spec) ? spec['items'] : spec;
  return Array.isArray(items) ? items.filter(isKubeObject) : [];
}

function isKubeObject(value: unknown): value is KubeObject {
  if (!isRecord(value) || typeof value['apiVersion'] !== 'string' || typeof value['kind'] !== 'string') return false;
  const { metadata } = value;
  return isRecord(metadata) && typeof metadata['name'] === 'string' && metadata['name'] !== '';
}

/** Kinds that others need: definitions, namespaces, classes and roles; then what a workload reads when it starts. */
const firstKinds = ['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'PriorityClass', 'StorageClass'];
const secondKinds = ['ConfigMap', 'Secret', 'ServiceAccount'];

const rankOf = ({ kind }: KubeObject): number =>
  firstKinds.includes(kind) ? firstKinds.indexOf(kind) : firstKinds.length + (secondKinds.includes(kind) ? 0 : 1);

/** Otherwise in the order of Talos. */
export const sortManifests = (objects: readonly KubeObject[]): KubeObject[] =>
  [...objects].sort((a, b) => rankOf(a) - rankOf(b));

/** The version of kube-proxy in the manifests; undefined if they have none. */
export function proxyVersionOf(objects: readonly KubeObject[]): string | undefined {
  const found = objects.find(({ kind, metadata }) => kind === 'DaemonSet' && metadata.name === 'kube-proxy');
  const text = found === undefined ? '' : JSON.stringify(found);
  return /kube-proxy:v(\d+\.\d+\.\d+[^"@]*)/.exec(text)?.[1];
}
