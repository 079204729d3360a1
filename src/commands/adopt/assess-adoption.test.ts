import { describe, expect, it } from 'vitest';
import { assessAdoption } from './assess-adoption.ts';
import type { InspectedCluster } from './inspect-cluster.ts';
import type { InspectedNode } from './inspect-node.ts';

const endpoint = 'https://10.0.0.1:6443';
const members = ['a', 'b', 'c'].map((name) => ({
  ...{ id: `id-${name}`, name: `cp-${name}`, learner: false },
  peerUrls: [`https://${name}:2380`],
}));

const nodeOf = (name: string, change: Partial<InspectedNode> = {}): InspectedNode => ({
  address: `address-${name}`,
  role: 'controlplane',
  configuredRole: 'controlplane',
  status: { stage: 'running', ready: true, unmetConditions: [] },
  running: { talosVersion: '1.13.9', kubernetesVersion: '1.35.4' },
  bootId: `boot-${name}`,
  endpoint,
  differences: [],
  isOurs: false,
  etcd: {
    ...{ members, alarms: [] },
    status: {
      ...{ memberId: `id-${name}`, leaderId: 'id-a', learner: false, errors: [] },
      ...{ databaseBytes: 1, databaseInUseBytes: 1 },
    },
  },
  ...change,
});
const worker = nodeOf('w', { role: 'worker', configuredRole: 'worker', etcd: undefined });
const controlPlanes = ['a', 'b', 'c'].map((name) => nodeOf(name));
const api = {
  version: '1.35.4',
  nodes: ['a', 'b', 'c', 'w', 'x'].map((name) => ({ name: `node-${name}`, bootId: `boot-${name}` })),
};
const foundWith = (change: Partial<InspectedCluster> = {}): InspectedCluster => ({
  ...{ nodes: [...controlPlanes, worker], endpoint, api },
  ...change,
});

it('gives each node the name that its cluster uses, and lists nodes that the command does not name', () => {
  const assessed = assessAdoption(foundWith());
  expect(assessed).toMatchObject({ cluster: { endpoint, kubernetesVersion: '1.35.4', unnamed: ['node-x'] } });
  expect('cluster' in assessed && assessed.cluster.nodes.map(({ name, address }) => [name, address])).toEqual(
    ['a', 'b', 'c', 'w'].map((name) => [`node-${name}`, `address-${name}`]),
  );
});

describe('names the obstacle', () => {
  const [a, b, c] = controlPlanes as [InspectedNode, InspectedNode, InspectedNode];
  const unhealthy = nodeOf('b', { etcd: a.etcd && { ...a.etcd, status: { ...a.etcd.status, leaderId: '0000' } } });
  const other = nodeOf('b', {
    etcd: b.etcd && { ...b.etcd, members: members.slice(0, 2) },
  });

  it.each<[string, Partial<InspectedCluster>, RegExp]>([
    ['a node that does not answer', { nodes: [a, b, c, { address: 'w', problem: 'Gone.' }] }, /^w: Gone\.$/],
    [
      'a member of etcd that is not named',
      { nodes: [a, b] },
      /^etcd has the member cp-c \(https:\/\/c:2380\): name it/,
    ],
    ['a member that is not healthy', { nodes: [a, unhealthy, c] }, /^address-b: its member of etcd is not healthy/],
    ['nodes of two clusters', { nodes: [a, other, c] }, /not members of one etcd/],
    [
      'another role',
      { nodes: [a, b, c, { ...worker, configuredRole: 'controlplane' }] },
      /^--worker address-w: it is a c/,
    ],
    [
      'other secrets',
      { nodes: [a, b, nodeOf('c', { differences: ['cluster.id'] })] },
      /than the file, in cluster\.id\./,
    ],
    ['a node of ours', { nodes: [a, b, nodeOf('c', { isOurs: true })] }, /^address-c: it was made by this provider/],
    ['one node twice', { nodes: [a, b, c, { ...worker, bootId: 'boot-a' }] }, /address-a and address-w are one node/],
    ['another endpoint', { nodes: [a, b, nodeOf('c', { endpoint: 'https://x' })] }, /endpoints: https:.*, https:\/\/x/],
    [
      'an unknown Talos',
      { nodes: [a, b, nodeOf('c', { running: { talosVersion: '1.9.1' } })] },
      /Talos 1\.9\.1 is not/,
    ],
    [
      'a Node of an earlier boot',
      { nodes: [a, b, c, { ...worker, bootId: 'new' }] },
      /^address-w: .* no Node of this boot/,
    ],
    ['a silent API server', { api: { problem: 'Refused.' } }, /^The API server https:.*: Refused\./],
    [
      'a node that is not ready',
      { nodes: [a, b, c, { ...worker, status: { stage: 'booting', ready: false, unmetConditions: [] } }] },
      /^address-w: The node is booting/,
    ],
  ])('%s', (_title, change, message) => {
    const assessed = assessAdoption(foundWith(change));
    expect(assessed).toEqual({ obstacles: expect.arrayContaining([expect.stringMatching(message)]) });
  });

  it('and blames no member while a control plane is silent', () => {
    const assessed = assessAdoption(foundWith({ nodes: [a, b, { address: 'c', problem: 'Gone.' }] }));
    expect(assessed).toEqual({ obstacles: ['c: Gone.'] });
  });
});
