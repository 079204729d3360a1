import type { KubeNode } from '../../support/fixtures/kube-node.ts';

/** The number of images on the disks of a small cluster; a kubelet reports up to fifty (`nodeStatusMaxImages`). */
const imageCount = 25;
const bytesOf = (index: number): number => 20_000_000 + index * 3_141_593;
const digest = (index: number): string => `${index}`.padStart(2, '0').repeat(32);

/** Makes a Node as large as in clusters in use: with the images on its disk and its managed fields. */
export function withKubeletReport(node: KubeNode): KubeNode {
  const { metadata, status } = node;
  const images = Array.from({ length: imageCount }, (_, index) => ({
    names: [
      `registry.example/team/service-${index}@sha256:${digest(index)}`,
      `registry.example/team/service-${index}:v1.${index}.0`,
    ],
    sizeBytes: bytesOf(index),
  }));
  const owned = (paths: readonly string[]) => Object.fromEntries(paths.map((path) => [`f:${path}`, {}]));
  const manager = (name: string, fields: object, subresource?: string) => ({
    ...{ manager: name, operation: 'Update', apiVersion: 'v1', time: '2026-01-02T03:04:05Z', fieldsType: 'FieldsV1' },
    fieldsV1: fields,
    ...(subresource && { subresource }),
  });
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => [
    `k:{"type":"${type}"}`,
    owned(['lastHeartbeatTime', 'lastTransitionTime', 'message', 'reason', 'status']),
  ]);
  const managedFields = [
    manager('Go-http-client', {
      'f:metadata': { 'f:labels': owned(Object.keys(metadata.labels ?? {})) },
      'f:spec': owned(['providerID', 'podCIDR', 'podCIDRs']),
    }),
    manager(
      'kubelet',
      {
        'f:status': {
          'f:conditions': Object.fromEntries(conditions),
          ...owned(['images', 'nodeInfo', 'allocatable', 'capacity']),
        },
      },
      'status',
    ),
  ];
  return { ...node, metadata: { ...metadata, managedFields }, status: { ...status, images } } as KubeNode;
}
