import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import { ConfigMap } from '../access/workload-cluster.ts';
import { resolveFieldRef } from './environment.ts';
import type { Container, KubePod, Projection, Volume } from './pod-types.ts';

interface VolumeContext {
  readonly client: KubeClient;
  readonly pod: KubePod;
  readonly address: string;
}
type Files = Record<string, string | Buffer>;

/** Makes the volumes of a Pod as folders in `folder`, each named after its volume. A token in them is not renewed. */
export async function makeVolumes(place: VolumeContext, folder: string): Promise<void> {
  for (const volume of place.pod.spec.volumes ?? []) {
    await mkdir(join(folder, volume.name), { recursive: true });
    for (const [path, content] of Object.entries(await filesOf(place, volume))) {
      const file = join(folder, volume.name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content, { mode: 0o644 });
    }
  }
}

/** The mount points of a container and their folders. */
export function mountsOf({ volumeMounts = [] }: Container, folder: string): ReadonlyMap<string, string> {
  return new Map(
    volumeMounts.map(({ name, mountPath, subPath }) => {
      if (subPath) throw new Error(`subPath of ${mountPath} is not known to this kubelet`);
      return [mountPath, join(folder, name)];
    }),
  );
}

async function filesOf(place: VolumeContext, volume: Volume): Promise<Files> {
  if (volume.projected) {
    const parts = await Promise.all((volume.projected.sources ?? []).map((source) => projectedFiles(place, source)));
    return Object.assign({}, ...parts) as Files;
  }
  if (volume.secret) {
    const { namespace } = place.pod.metadata;
    const { data = {} } = await place.client.get(Secret, { namespace, name: volume.secret.secretName });
    const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]);
    return selectItems(Object.fromEntries(decoded) as Files, volume.secret.items);
  }
  if (volume.emptyDir) return {};
  throw new Error(`volume ${volume.name} is of a kind that is not known to this kubelet`);
}

async function projectedFiles({ client, pod, address }: VolumeContext, source: Projection): Promise<Files> {
  const { namespace } = pod.metadata;
  if (source.serviceAccountToken)
    return { [source.serviceAccountToken.path]: await requestBoundToken({ client, pod }, source) };
  if (source.configMap) {
    const { data = {} } = await client.get(ConfigMap, { namespace, name: source.configMap.name });
    return selectItems(data, source.configMap.items);
  }
  const { items = [] } = source.downwardAPI ?? {};
  return Object.fromEntries(
    items.map(({ path, fieldRef }) => [path, fieldRef ? resolveFieldRef(pod, fieldRef, address) : '']),
  );
}

function selectItems(
  files: Files,
  items: readonly { readonly key: string; readonly path: string }[] | undefined,
): Files {
  return items ? Object.fromEntries(items.map(({ key, path }) => [path, files[key] ?? ''])) : files;
}

/**
 * A token of the Pod's own ServiceAccount that is invalid once the Pod is gone, as the API server issues it to
 * kubelets.
 */
async function requestBoundToken(
  { client, pod }: Pick<VolumeContext, 'client' | 'pod'>,
  { serviceAccountToken }: Projection,
) {
  const { name, namespace, uid } = pod.metadata;
  const account = pod.spec.serviceAccountName ?? 'default';
  const { status } = await client.raw<{ status: { token: string } }>(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: serviceAccountToken?.expirationSeconds ?? 3600,
        audiences: serviceAccountToken?.audience ? [serviceAccountToken.audience] : [],
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    },
  );
  return status.token;
}
