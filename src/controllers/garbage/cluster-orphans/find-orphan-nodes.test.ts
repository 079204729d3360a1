import { describe, expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { aClusterView, someSecrets } from '../../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../../api/machine.ts';
import { labels, machineName } from '../../../api/names.ts';
import type { Node } from '../../../kube/drain/kinds.ts';
import { findNodeObjection, listOrphanCandidates } from './find-orphan-nodes.ts';

const ref = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };
const nameOf = (slot: number, pool = 'work', prefix?: string) => machineName(ref, pool, slot, prefix);
const name = nameOf(7);
const providerID = 'truenas://nas.example.org/3f0e';
const aNode = (change: { metadata?: object; spec?: object; ready?: string } = {}): Node => ({
  ...{ apiVersion: 'v1', kind: 'Node' },
  metadata: { name, uid: 'n1', resourceVersion: '5', labels: { [labels.pool]: 'work' }, ...change.metadata },
  spec: { providerID, ...change.spec },
  status: { conditions: [{ type: 'Ready', status: change.ready ?? 'Unknown' }] },
});
const withFacts = (facts: Record<string, string | number>, slot = 0): Machine => {
  const machine = aMachine(slot, [], 'work');
  Object.assign(machine.status?.progress?.facts ?? {}, facts);
  return machine;
};
const objection = (node: Node, machines: readonly Machine[] = [aMachine(0), aMachine(0, [], 'work')]) =>
  findNodeObjection(node, { ref, secrets: someSecrets() }, machines);

describe('D37: a Node', () => {
  it('is an orphan with all marks of this provider, and without a Machine', () => {
    expect(objection(aNode())).toBeUndefined();
    expect(objection(aNode({ ready: 'False' }))).toBeUndefined();
  });

  it('is recognised by the prefix of node names that its cluster has', () => {
    const node = aNode({ metadata: { name: nameOf(7, 'work', 'site') } });
    const secrets = someSecrets({ nodePrefix: 'site' });
    expect(findNodeObjection(node, { ref, secrets }, [])).toBeUndefined();
    expect(objection(node)).toMatch(/name/);
  });

  it.each<[string, Node, RegExp]>([
    ['is Ready', aNode({ ready: 'True' }), /is Ready/],
    ['is being deleted', aNode({ metadata: { deletionTimestamp: '2026-11-21T09:00:00Z' } }), /being deleted/],
    ['has no label of this provider', aNode({ metadata: { labels: {} } }), /no mark/],
    ['has the label of another pool', aNode({ metadata: { labels: { [labels.pool]: 'gpu' } } }), /name/],
    ['has the name of another cluster', aNode({ metadata: { name: 'prod-abcdefgh-work-7' } }), /name/],
    ['has no number', aNode({ metadata: { name: 'worker' } }), /no mark/],
    ['has no provider id', aNode({ spec: { providerID: undefined } }), /no provider id/],
    ['has a provider id of no form', aNode({ spec: { providerID: 'x' } }), /no provider id/],
  ])('stays if it %s', (_, node, reason) => {
    expect(objection(node)).toMatch(reason);
  });

  it.each<[string, Machine]>([
    ['its name', aMachine(7, [], 'work')],
    ['its name and is in deletion', { ...aMachine(7, [], 'work'), metadata: { name, deletionTimestamp: 'x' } }],
    ['its provider id', withFacts({ providerId: providerID })],
    ['the last part of its provider id', withFacts({ server: '3f0e' })],
  ])('stays while a Machine has %s', (_, machine) => {
    expect(objection(aNode(), [machine])).toMatch(/^Machine .* exists\.$/);
  });
});

describe('D37: the Nodes to look at', () => {
  const view = aClusterView({ ref, secrets: someSecrets(), spec: aSpec() });
  const list = (names: readonly string[], machines: readonly string[] = []) =>
    listOrphanCandidates(view, names, (one) => machines.includes(one));

  it('are those with a name of this cluster and without a Machine', () => {
    expect(list([name, nameOf(8), 'other', `${name}-x`], [nameOf(8)])).toEqual([name]);
  });

  it('are not those of a Machine that does not exist yet', () => {
    expect(list([nameOf(0, 'cp'), nameOf(3, 'cp')])).toEqual([nameOf(3, 'cp')]);
  });
});
