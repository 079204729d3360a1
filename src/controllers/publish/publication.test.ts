import { describe, expect, it } from 'vitest';
import { fleetName } from '../../api/names.ts';
import { PublishSchema } from '../../api/schema/publish-schema.ts';
import { describePublications, publishedSecretName } from './publication.ts';

const cluster = { namespace: 'shop', name: 'main', uid: 'uid' };
const section = { namespace: 'fleet', clusterRole: 'view' };

describe('M17: the name of a Cluster for consumers', () => {
  it('follows from its namespace and name alone', () => {
    expect(fleetName(cluster)).toBe(fleetName({ ...cluster, namespace: 'shop' }));
    expect(publishedSecretName('kubeconfigSecret', cluster)).toBe(
      publishedSecretName('kubeconfigSecret', { ...cluster, uid: 'another' }),
    );
  });

  it.each([
    ['shop', 'main'],
    ['a'.repeat(63), 'b'.repeat(253)],
    ['shop', `${'x'.repeat(40)}.one`],
    ['shop', 'with.dots'],
  ])('is a DNS label: %s/%s', (namespace, name) => {
    expect(fleetName({ namespace, name })).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
  });

  it('is unique although long names are cut, and names with one text in other places', () => {
    const long = 'x'.repeat(40);
    const names = [
      fleetName({ namespace: 'shop', name: `${long}-one` }),
      fleetName({ namespace: 'shop', name: `${long}-two` }),
      fleetName({ namespace: 'other', name: `${long}-one` }),
      fleetName({ namespace: 'a-b', name: 'c' }),
      fleetName({ namespace: 'a', name: 'b-c' }),
    ];
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the forms of spec.publish', () => {
  const spec = PublishSchema.parse({ kubeconfigSecret: section, clusterProfile: section, argoCD: section });
  const all = describePublications(spec, { environment: 'test', provider: 'talos', cluster });

  it('have accounts and Secrets of their own, also in one namespace', () => {
    expect(all.map(({ form }) => form)).toEqual(['kubeconfigSecret', 'clusterProfile', 'argoCD']);
    expect(new Set(all.map(({ id }) => id)).size).toBe(3);
    expect(new Set(all.map(({ form }) => publishedSecretName(form, cluster))).size).toBe(3);
  });

  it('have the name of the provider as their manager, unless another one is given', () => {
    expect(all[1]?.inventory).toEqual({
      clusterManager: 'talos',
      accessProvider: 'kubeconfig-secretreader',
      clusterSet: undefined,
    });
  });

  it.each([
    ['no ClusterRole', { kubeconfigSecret: { namespace: 'fleet' } }],
    ['no namespace', { argoCD: { clusterRole: 'view' } }],
    ['an invalid label', { argoCD: { ...section, labels: { 'a b': 'c' } } }],
    [
      'too many labels',
      { argoCD: { ...section, labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, ''])) } },
    ],
    ['a manager that is no label value', { clusterProfile: { ...section, clusterManager: 'x'.repeat(64) } }],
    ['an unknown field', { fleet: section }],
  ])('are rejected with %s', (_, given) => {
    expect(PublishSchema.safeParse(given).success).toBe(false);
  });
});
