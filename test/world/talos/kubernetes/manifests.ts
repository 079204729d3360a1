import { parseAllDocuments } from 'yaml';
import type { KubeStore } from '../../kube/storage/store.ts';
import type { TalosNode } from '../node.ts';
import { componentImage } from './component-image.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';

type Manifest = Parameters<KubeStore['put']>[0];

/** The images of CoreDNS and Flannel of each minor. */
const addonVersions: Readonly<Record<number, readonly [coreDns: string, flannel: string]>> = {
  12: ['v1.13.2', 'v0.27.4'],
  13: ['v1.14.6', 'v0.28.8'],
  14: ['v1.14.6', 'v0.28.8'],
};

/**
 * Publishes the bootstrap manifests (talos: controllers/k8s/manifest.go), of which only the workloads and what they need
 * are simulated, and creates what is missing in the cluster: Talos never changes what exists (manifest_apply.go).
 */
export function publishManifests(node: TalosNode, cluster: SimulatedEtcdCluster): void {
  const manifests = bootstrapManifests(node);
  const type = 'Manifests.kubernetes.talos.dev';
  for (const [id, items] of manifests) node.resources.put('controlplane', type, id, items);
  const ids = manifests.map(([id]) => id);
  node.resources.keepOnly('controlplane', type, ids);
  for (const item of manifests.flatMap(([, items]) => items)) createIfMissing(cluster.store, item);
  node.resources.put('controlplane', 'ManifestStatuses.kubernetes.talos.dev', 'manifests', { manifestsApplied: ids });
}

function createIfMissing(store: KubeStore, item: Manifest): void {
  const { name, namespace } = item.metadata;
  const { apiVersion, kind } = item;
  if (store.get({ apiVersion, kind, name, ...(namespace ? { namespace } : {}) })) return;
  const isWorkload = apiVersion === 'apps/v1';
  store.put(isWorkload ? { ...item, metadata: { ...item.metadata, generation: 1 } } : item);
}

function bootstrapManifests(node: TalosNode): [id: string, items: Manifest[]][] {
  const [coreDns, flannel] = addonVersions[node.minor] ?? ['v1.14.6', 'v0.28.8'];
  const { cni, proxyDisabled } = node.config?.view.kubernetes ?? {};
  const dns = workload('Deployment', 'coredns', 'kube-dns', `registry.k8s.io/coredns/coredns:${coreDns}`);
  return [
    ...(cni === 'flannel'
      ? [
          [
            '05-flannel',
            workload('DaemonSet', 'kube-flannel', 'flannel', `ghcr.io/siderolabs/flannel:${flannel}`),
          ] as const,
        ]
      : []),
    ...(proxyDisabled
      ? []
      : [['10-kube-proxy', workload('DaemonSet', 'kube-proxy', 'kube-proxy', componentImage(node, 'proxy'))] as const]),
    ['11-core-dns', dns] as const,
    ...inlineManifests(node),
  ].map(([id, items]) => [id, [...items]]);
}

/** Manifests of users (talos: controllers/k8s/control_plane_extra_manifests.go). Those behind URLs are not simulated. */
const inlineManifests = (node: TalosNode): (readonly [string, Manifest[]])[] =>
  (node.config?.view.kubernetes.inlineManifests ?? []).map(({ name, contents }) => [
    `99-${name}`,
    parseAllDocuments(contents).flatMap((document) => (document.toJS() as Manifest | null) ?? []),
  ]);

/** A workload of kube-system with its account. */
function workload(kind: 'DaemonSet' | 'Deployment', name: string, app: string, image: string): Manifest[] {
  const labels = { 'k8s-app': app };
  const pod = { serviceAccountName: name, containers: [{ name, image }] };
  const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
  const metadata = { name, namespace: 'kube-system' };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'apps/v1',
      kind,
      metadata: { ...metadata, labels },
      spec: { ...(kind === 'Deployment' ? { replicas: 2 } : {}), ...spec },
    },
  ];
}
