import { describe, expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, openmcpGroup, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { coreReadRules } from '../support/access/access-helpers.ts';
import { providerCalls } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.47' });
const ref = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const token = { permissions: [{ rules: coreReadRules('configmaps') }] };

const isReady = async (name: string): Promise<boolean> =>
  (await open().objects.getCluster(ref(name))).status?.phase === 'Ready';
const refusalOf = async (config: string, type: 'ProfilePublished' | 'ConfigValid'): Promise<string> =>
  findFalseCondition((await open().objects.getConfig(config)).status?.conditions, type)?.message ?? '';
const profileOf = (config: string) => ({ name: open().objects.profileOf(config) });

async function makeForeign(config: string): Promise<ClusterProfile> {
  return await open().platform.create(ClusterProfile, {
    apiVersion: `${openmcpGroup}/v1alpha1`,
    kind: 'ClusterProfile',
    metadata: profileOf(config),
    spec: { providerRef: { name: 'kind' }, providerConfigRef: { name: 'local' }, supportedVersions: [] },
  });
}

/** Removes the finalizer by hand, as an impatient user does. */
async function tearAway(config: string): Promise<void> {
  await open().provider.stop();
  await open().objects.remove(ProviderConfig, { name: config });
  await open().platform.merge(ProviderConfig, { name: config }, { metadata: { finalizers: null } });
  open().provider.start();
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  for (const config of ['home', 'away'])
    await objects.config(config, { pool: config === 'home' ? [10, 40] : [50, 99] });
  for (const config of ['home', 'away']) await objects.cluster(ref(config), { config });
  for (const name of ['home', 'away']) await eventually(`${name} is ready`, () => isReady(name), 100);
});

describe('C14: a ClusterProfile of another provider under the name of ours', () => {
  it('is reported and not adopted, and stays when our ProviderConfig is deleted', async () => {
    const foreign = await makeForeign('taken');
    await open().objects.config('taken', { pool: [100, 110] });
    await open().objects.cluster(ref('theirs'), { config: 'taken' });
    await eventually('it says so', async () =>
      /belongs to local of provider kind/.test(await refusalOf('taken', 'ProfilePublished')),
    );
    await open().objects.remove(ProviderConfig, { name: 'taken' });
    await eventually('it is gone', async () => !(await open().objects.exists(ProviderConfig, { name: 'taken' })));
    expect(await open().platform.get(ClusterProfile, profileOf('taken'))).toEqual(foreign);
    expect((await open().objects.getCluster(ref('theirs'))).metadata.finalizers).toBeUndefined();
  });
});

it('C9: a ProviderConfig whose profile name exceeds a label value is rejected, with the length that fits', async () => {
  const name = 'c'.repeat(53);
  await open().objects.config(name, { pool: [100, 110] });
  await eventually('it says so', async () => /at most 52 characters/.test(await refusalOf(name, 'ConfigValid')));
  expect(await open().objects.exists(ClusterProfile, profileOf(name))).toBe(false);
  expect(isConditionTrue((await open().objects.getConfig(name)).status?.conditions, 'Ready')).toBe(false);
});

it('C18, C19: a Cluster whose ClusterProfile does not exist is not touched, not even at its deletion', async () => {
  await open().objects.cluster(ref('lost'), { profile: 'test.talos.nowhere' });
  await open().objects.annotate(Cluster, ref('lost'), { [openmcpKeys.operation]: 'reconcile' });
  await consistently(1, async () => {
    const { metadata, status } = await open().objects.getCluster(ref('lost'));
    expect([metadata.finalizers, metadata.annotations?.[openmcpKeys.operation], status]).toEqual([
      undefined,
      'reconcile',
      undefined,
    ]);
  });
  await open().objects.remove(Cluster, ref('lost'));
  expect(await open().objects.exists(Cluster, ref('lost'))).toBe(false);
  expect(providerCalls(open().calls).filter(({ name }) => /clusters\/lost|nowhere/.test(name))).toEqual([]);
});

describe('C18: a Cluster of a profile of ours whose ProviderConfig is gone', () => {
  const saysMissing = (name: string) =>
    eventually('it says so', async () => {
      const { status } = await open().objects.getCluster(ref(name));
      return findFalseCondition(status?.conditions, 'Ready')?.reason === 'ProviderConfigMissing';
    });

  it('reports it, and is reconciled as far as its secrets allow', async () => {
    await tearAway('home');
    await saysMissing('home');
    expect((await open().objects.getCluster(ref('home'))).status?.phase).toBe('Progressing');
    await open().objects.request(ref('home'), { clusterRef: ref('home'), token });
    await eventually(
      'access is granted',
      async () => (await open().objects.getRequest(ref('home'))).status?.phase === 'Granted',
    );
  });

  it('can be deleted once the ProviderConfig exists again, and reports that until then', async () => {
    await open().objects.remove(Cluster, ref('home'));
    await eventually('it says so', async () => {
      const { status } = await open().objects.getCluster(ref('home'));
      return /ProviderConfig home does not exist\. Create it again/.test(
        findFalseCondition(status?.conditions, 'MachinesReady')?.message ?? '',
      );
    });
    await open().objects.config('home', { pool: [10, 40] });
    await eventually('the Cluster is gone', async () => !(await open().objects.exists(Cluster, ref('home'))), 60);
    await open().objects.remove(AccessRequest, ref('home'));
  });

  it('can be deleted when a user declares its machines permanently gone', async () => {
    await tearAway('away');
    await saysMissing('away');
    for (const { metadata } of await open().objects.machines(ref('away')))
      await open().objects.annotate(Machine, { name: metadata.name }, { [annotations.failureDomainLost]: 'true' });
    await open().objects.remove(Cluster, ref('away'));
    await eventually('the Cluster is gone', async () => !(await open().objects.exists(Cluster, ref('away'))), 60);
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
