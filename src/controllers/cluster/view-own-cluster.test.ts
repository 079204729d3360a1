import { expect, it } from 'vitest';
import { instanceFinalizers, openmcpKeys } from '../../api/names.ts';
import type { Cluster, ClusterProfile } from '../../api/openmcp/types.ts';
import type { Services } from '../shared/services.ts';
import { isOwnCluster } from './cluster-responsibility.ts';

const namespace = 'openmcp-system';

interface Profile {
  readonly provider: string;
  readonly config: string;
}

/** Whether a Cluster of `test.talos.home` is ours, with this profile or none. */
function judge(
  profile: Profile | undefined,
  metadata: Partial<Cluster['metadata']> = {},
  environment = 'test',
): boolean {
  const object = profile && {
    metadata: { name: 'test.talos.home' },
    spec: { providerRef: { name: profile.provider }, providerConfigRef: { name: profile.config } },
  };
  const profiles = { get: () => object as ClusterProfile | undefined };
  const services = { stores: { profiles }, environment, provider: 'talos', namespace } as unknown as Services;
  const cluster = { metadata: { name: 'a', ...metadata }, spec: { profile: 'test.talos.home' } } as Cluster;
  return isOwnCluster(services, cluster);
}

const held = {
  finalizers: [instanceFinalizers({ environment: 'test', provider: 'talos', namespace }).cluster],
  labels: { [openmcpKeys.provider]: 'talos' },
};

it('C18: is ours by its profile, with or without its ProviderConfig', () => {
  expect(judge({ provider: 'talos', config: 'home' })).toBe(true);
});

it.each<[string, Profile, string?]>([
  ['of another provider', { provider: 'kind', config: 'home' }],
  ['created by a user for another ProviderConfig', { provider: 'talos', config: 'other' }],
  ['of a provider of the same name in another environment', { provider: 'talos', config: 'home' }, 'prod'],
])('C18: is not ours by a profile %s, even where it carries our finalizer', (_, profile, environment) => {
  expect([judge(profile, {}, environment), judge(profile, held, environment)]).toEqual([false, false]);
});

it('C18: without a profile is ours only with our finalizer and our label', () => {
  expect([judge(undefined), judge(undefined, held)]).toEqual([false, true]);
  expect(judge(undefined, { finalizers: held.finalizers })).toBe(false);
  expect(judge(undefined, { labels: held.labels })).toBe(false);
});
