import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import {
  expectHelpfulMessage,
  expectNoErrorsLogged,
  readRejection,
  type SubmissionResult,
} from '../support/objects/submission-result.ts';
import { addressHolders, listLeftovers } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const subnet = '127.42.133';
const open = startTestbed({ subnet, speed: 50, seeds: { truenas: { bridges: ['br0', 'br1'] } } });
const at = (last: number): string => `${subnet}.${last}`;
const ref = (name: string) => ({ namespace: 'shop', name });

prepareTestbed(open, ({ objects }) => objects.credentials());

const isReady = (name: string) =>
  eventually(
    `Cluster ${name} is ready`,
    async () => (await open().objects.getCluster(ref(name))).status?.phase === 'Ready',
    90,
  );

const configIsReady = (name: string) =>
  eventually(
    `ProviderConfig ${name} is ready`,
    async () => (await open().objects.getConfig(name)).status?.phase === 'Ready',
  );

/** The reason why the current spec of a ProviderConfig is rejected. */
const refusalOf = (name: string): Promise<SubmissionResult> =>
  eventually(`ProviderConfig ${name} is refused`, async () => {
    const config = await open().objects.getConfig(name);
    return config.status?.observedGeneration === config.metadata.generation && readRejection(config, 'ConfigValid');
  });

/** The addresses of a Cluster and its machines. */
async function addressesOf(name: string): Promise<string[]> {
  const held = [...(await addressHolders(open()))].filter(([, holder]) => new RegExp(`/${name}(-|$)`).test(holder));
  return held.map(([address]) => address).sort();
}

async function vanish(...names: string[]): Promise<void> {
  const { objects } = open();
  for (const name of names) await objects.remove(Cluster, ref(name));
  for (const name of names)
    await eventually(`${name} is gone`, async () => !(await objects.exists(Cluster, ref(name))));
}

describe('two ProviderConfigs whose address pools overlap', () => {
  it('both work from one plan: no address is assigned twice, not even in another network', async () => {
    const { objects } = open();
    await objects.config('left', { pool: [10, 12] });
    await objects.config('right', {
      pool: [11, 13],
      change: ({ truenas }) => Object.assign(truenas, { bridge: 'br1' }),
    });
    await objects.cluster(ref('a'), { config: 'left' });
    await isReady('a');
    await objects.cluster(ref('b'), { config: 'right' });
    await isReady('b');
    expect(await addressesOf('a')).toEqual([at(10), at(11)]);
    expect(await addressesOf('b')).toEqual([at(12), at(13)]);
  });

  it('leave no address for a third Cluster, which reports it and continues without help after a release', async () => {
    const { objects } = open();
    await objects.cluster(ref('c'), { config: 'left' });
    const verdict = await eventually('it says so', async () => {
      const refused = readRejection(await objects.getCluster(ref('c')), 'MachinesReady');
      expect(refused).toMatchObject({ reason: 'AddressPoolExhausted' });
      return refused;
    });
    expectHelpfulMessage(
      verdict,
      `ProviderConfig left: The address pool has no free address left. All addresses of network.addressPool (${at(10)}-${at(12)}) are in use. Add addresses.`,
    );
    expect(await objects.machines(ref('c'))).toEqual([]);
    await vanish('a');
    await isReady('c');
    expect(await addressesOf('c')).toEqual([at(10), at(11)]);
    await vanish('b', 'c');
  });
});

describe('a fixed endpoint', () => {
  const fixed = (endpoint: string) => ({
    pool: [50, 59] as const,
    change: ({ controlPlane }: { controlPlane: object }) => Object.assign(controlPlane, { endpoint }),
  });

  it('in the pool of another ProviderConfig is never assigned', async () => {
    const { objects } = open();
    await objects.config('fixed', fixed(`${at(40)}:443`));
    await configIsReady('fixed');
    await objects.config('around', { pool: [40, 49] });
    await objects.cluster(ref('d'), { config: 'around' });
    await eventually('it has its addresses', async () => (await addressesOf('d')).length === 2);
    expect(await addressesOf('d')).toEqual([at(41), at(42)]);
  });

  it('that a node already has is rejected, and the message names the node', async () => {
    const { objects, platform } = open();
    await objects.config('late', fixed(at(42)));
    const verdict = await refusalOf('late');
    expectHelpfulMessage(verdict, `controlPlane.endpoint: ${at(42)} is claimed by machine/d-`);
    await platform.merge(ProviderConfig, { name: 'late' }, { spec: { controlPlane: { endpoint: at(60) } } });
    await configIsReady('late');
    await vanish('d');
  });

  it('that another ProviderConfig has is rejected until that ProviderConfig is deleted', async () => {
    const { objects } = open();
    await objects.config('elder', fixed('k8s.example.org'));
    await configIsReady('elder');
    await objects.config('younger', fixed('K8s.example.org:6443'));
    expectHelpfulMessage(
      await refusalOf('younger'),
      'controlPlane.endpoint: ProviderConfig elder also has k8s.example.org:6443',
    );
    await objects.remove(ProviderConfig, { name: 'elder' });
    await configIsReady('younger');
  });
});

it('nothing is left behind, and the provider logs no fault of its own', async () => {
  const { objects, platform } = open();
  const { items } = await platform.list(ProviderConfig);
  for (const { metadata } of items) await objects.remove(ProviderConfig, { name: metadata.name });
  await eventually('nothing is left', async () => (await listLeftovers(open())).length === 0);
  expectNoErrorsLogged(open());
});
