import { describe, expect, it } from 'vitest';
import { describePublications, type InventoryOptions, type Publication } from '../publication.ts';
import {
  type ClusterFacts,
  describeInventoryProfile,
  describeProfileStatus,
  isSameStatus,
  planProfile,
} from './desired-profile.ts';

const cluster = { namespace: 'shop', name: 'main', uid: 'uid' };
const section = { namespace: 'fleet', clusterRole: 'view', labels: {}, accessProvider: 'reader', clusterSet: 'home' };
const publicationWith = (change: object = {}) =>
  describePublications(
    { clusters: 'All', clusterProfile: { ...section, ...change } },
    { environment: 'test', provider: 'talos', cluster },
  )[0] as Publication & { readonly inventory: InventoryOptions };
const facts: ClusterFacts = {
  ...{ id: 'id', kubernetes: '1.35.4', talos: '1.13.9', platform: 'truenas', mirrored: [], health: 'True' },
  server: { url: 'https://192.0.2.1:6443', ca: 'CA' },
};
const now = new Date('2026-01-01T00:00:00Z');
const later = new Date('2026-01-02T00:00:00Z');
const statusWith = (change: Partial<ClusterFacts> = {}, found?: ReturnType<typeof describeProfileStatus>, at = now) =>
  describeProfileStatus(publicationWith(), { ...facts, ...change }, found, at);
const valuesOf = ({ properties = [] }: ReturnType<typeof statusWith>) =>
  Object.fromEntries(properties.map(({ name, value }) => [name, value]));

describe('M5: the status of a profile', () => {
  it('is the same for the same facts, at any time and in any order', () => {
    const first = statusWith();
    const again = statusWith({}, first, later);
    expect(isSameStatus(first, again)).toBe(true);
    const reordered = {
      properties: first.properties?.toReversed() ?? [],
      conditions: first.conditions?.toReversed() ?? [],
      accessProviders: first.accessProviders ?? [],
      version: first.version ?? {},
    };
    expect(isSameStatus(reordered, again)).toBe(true);
    expect(isSameStatus(undefined, again)).toBe(false);
  });

  it('M12: has the time of a condition from its last change, and never an empty reason or message', () => {
    const unhealthy = statusWith({ health: 'False' }, statusWith(), later);
    expect(unhealthy.conditions).toMatchObject([
      { type: 'ControlPlaneHealthy', status: 'False', lastTransitionTime: '2026-01-02T00:00:00Z' },
      { type: 'Joined', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ]);
    for (const { reason, message } of unhealthy.conditions ?? []) {
      expect(reason).not.toBe('');
      expect(message).not.toBe('');
    }
  });

  it('M10: mirrors the properties of the cluster, each name once, without values that do not fit', () => {
    const mirrored = [
      { name: 'region.example.org', value: 'eu' },
      { name: 'clusterset.k8s.io', value: 'of others' },
      { name: 'long.example.org', value: 'x'.repeat(1025) },
      { name: 'empty.example.org', value: '' },
    ];
    const values = valuesOf(statusWith({ mirrored }));
    expect(values).toMatchObject({ 'region.example.org': 'eu', 'clusterset.k8s.io': 'home' });
    expect(Object.keys(values)).not.toContain('long.example.org');
    expect(Object.keys(values)).not.toContain('empty.example.org');
  });

  it('has no membership outside of a ClusterSet', () => {
    const joined = statusWith();
    const alone = describeProfileStatus(publicationWith({ clusterSet: undefined }), facts, joined, later);
    expect(alone.conditions?.map(({ type }) => type)).toEqual(['ControlPlaneHealthy']);
    expect(Object.keys(valuesOf(alone))).not.toContain('clusterset.k8s.io');
  });
});

describe('what happens to a profile that exists', () => {
  const wanted = describeInventoryProfile(publicationWith(), 'talos');
  const found = { ...wanted, status: statusWith() };

  it('M4: its manager is never rewritten: another one needs another profile', () => {
    expect(planProfile(wanted, found, facts)).toBe('keep');
    const other = describeInventoryProfile(publicationWith({ clusterManager: 'other' }), 'talos');
    expect(planProfile(other, found, facts)).toBe('replace');
    expect(other.metadata.labels?.['x-k8s.io/cluster-manager']).toBe(other.spec.clusterManager.name);
  });

  it('M14: another cluster under its name is another profile', () => {
    expect(planProfile(wanted, found, { ...facts, id: 'another' })).toBe('replace');
  });

  it('a label of ours that is missing is restored, and those of others stay', () => {
    const { metadata } = found;
    const more = { ...found, metadata: { ...metadata, labels: { ...metadata.labels, other: 'x' } } };
    expect(planProfile(wanted, more, facts)).toBe('keep');
    expect(planProfile(wanted, { ...found, metadata: { ...metadata, labels: {} } }, facts)).toBe('patch');
  });
});
