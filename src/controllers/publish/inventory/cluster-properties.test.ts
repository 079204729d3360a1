import { describe, expect, it } from 'vitest';
import { labels } from '../../../api/names.ts';
import { describeMembershipProperties, planClusterProperties } from './cluster-properties.ts';
import type { ClusterProperty } from './inventory-types.ts';

const property = (name: string, value: string, isOwn = true): ClusterProperty => ({
  apiVersion: 'about.k8s.io/v1beta1',
  kind: 'ClusterProperty',
  metadata: { name, ...(isOwn ? { labels: { [labels.provider]: 'talos' } } : {}) },
  spec: { value },
});
const wanted = describeMembershipProperties('id', 'home');
const plan = (found: readonly ClusterProperty[], desired = wanted) => {
  const { remove, create, problem } = planClusterProperties(desired, found, 'talos');
  return { remove: remove.map(({ metadata }) => metadata.name), create: create.map(({ name }) => name), problem };
};

describe('M9: the membership of a cluster', () => {
  it('is made once', () => {
    expect(plan([])).toMatchObject({ remove: [], create: ['cluster.clusterset.k8s.io', 'clusterset.k8s.io'] });
    const all = wanted.map(({ name, value }) => property(name, value));
    expect(plan(all)).toMatchObject({ remove: [], create: [] });
  });

  it('is never changed: it ends, and begins again', () => {
    const found = [property('cluster.clusterset.k8s.io', 'id'), property('clusterset.k8s.io', 'former')];
    expect(plan(found)).toMatchObject({ remove: ['clusterset.k8s.io'], create: ['clusterset.k8s.io'] });
  });

  it('ends with our properties, and leaves those of others', () => {
    const found = [property('clusterset.k8s.io', 'home'), property('region.example.org', 'eu', false)];
    expect(plan(found, [])).toEqual({ remove: ['clusterset.k8s.io'], create: [], problem: undefined });
  });

  it('is not taken from others: an equal value is accepted, another one is a problem', () => {
    const id = property('cluster.clusterset.k8s.io', 'id', false);
    expect(plan([id])).toMatchObject({ remove: [], create: ['clusterset.k8s.io'] });
    const problem = plan([property('clusterset.k8s.io', 'of others', false)]).problem;
    expect(problem).toMatchObject({ reason: 'NotManaged' });
    expect(problem?.message).toContain('clusterset.k8s.io');
  });
});
