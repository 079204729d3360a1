import { describe, expect, it } from 'vitest';
import { findAttachedVolumes } from './attached-volumes.ts';
import type { Node, PersistentVolume, VolumeAttachment } from './kinds.ts';

const node = (...volumes: string[]): Node => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } },
  status: { volumesAttached: volumes.map((name) => ({ name })) },
});
const attachment = (volume: string, nodeName = 'worker-1', attached = true): VolumeAttachment => ({
  ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name: `csi-${volume}` } },
  spec: { nodeName, source: { persistentVolumeName: volume } },
  status: { attached },
});
const volume = (name: string): PersistentVolume => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
  spec: { csi: { driver: 'csi.example.org', volumeHandle: `h-${name}` } },
});

describe('D9: volumes that are attached to a node', () => {
  it('are found by VolumeAttachment, on this node only', () => {
    const attachments = [attachment('a'), attachment('b', 'worker-2'), attachment('c', 'worker-1', false)];
    expect(findAttachedVolumes({ node: node(), attachments, inUse: [] })).toEqual(['a']);
  });

  it('are found in the status of the Node, where a driver has no VolumeAttachment', () => {
    expect(findAttachedVolumes({ node: node('kubernetes.io/iscsi/x'), attachments: [], inUse: [] })).toEqual([
      'kubernetes.io/iscsi/x',
    ]);
  });

  it('without those of pods that stay, by either name', () => {
    const attachments = [attachment('a'), attachment('logs')];
    const both = node('kubernetes.io/csi/csi.example.org^h-a', 'kubernetes.io/csi/csi.example.org^h-logs');
    expect(findAttachedVolumes({ node: both, attachments, inUse: [volume('logs')] })).toEqual(['a']);
    expect(findAttachedVolumes({ node: both, attachments: [], inUse: [volume('logs'), volume('a')] })).toEqual([]);
  });
});
