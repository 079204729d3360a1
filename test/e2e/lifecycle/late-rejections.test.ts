import { expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import { expectHelpfulMessage, expectNoErrorsLogged, readRejection } from '../support/objects/submission-result.ts';
import type { RawProviderConfigSpec } from '../support/objects/test-objects.ts';
import { listLeftovers } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.134', speed: 50 });
const ref = (name: string) => ({ namespace: 'shop', name });

/** Mistakes that show only when a machine is created, each with the expected words. */
const mistakes: readonly [name: string, words: string, spoil: (spec: RawProviderConfigSpec) => void][] = [
  [
    'unknown-extension',
    'talos.extensions',
    ({ talos }) => Object.assign(talos, { extensions: ['siderolabs/no-such'] }),
  ],
  ['unknown-release', 'talos.version', ({ talos }) => Object.assign(talos, { version: '1.13.99' })],
  [
    'silent-factory',
    'talos.factoryUrl',
    ({ talos }) => Object.assign(talos, { factoryUrl: 'http://127.42.134.250:9' }),
  ],
  [
    'much-memory',
    'Reduce the memory of the size',
    ({ truenas }) => Object.assign(truenas, { sizes: [size({ memoryMiB: 16_777_216 })] }),
  ],
  ['large-disk', 'truenas.pool', ({ truenas }) => Object.assign(truenas, { sizes: [size({ diskGiB: 65_536 })] })],
];

const size = (more: object): object => ({ name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20, ...more });

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  for (const [i, [name, , change]] of mistakes.entries()) {
    await objects.config(name, { change, pool: [10 + 2 * i, 11 + 2 * i] });
    await objects.cluster(ref(name), { config: name });
  }
  await objects.config('home', { pool: [40, 49] });
  await objects.cluster(ref('good'));
});

it('the valid ProviderConfig among them is reconciled', async () => {
  await eventually(
    'it is ready',
    async () => (await open().objects.getCluster(ref('good'))).status?.phase === 'Ready',
    90,
  );
});

it.each(mistakes)('C35, T32: the Cluster names the field to correct: %s', async (name, words) => {
  const verdict = await eventually('it says so', async () => {
    const found = readRejection(await open().objects.getCluster(ref(name)), 'MachinesReady');
    expect(found).toMatchObject({ message: expect.stringContaining(words) });
    return found;
  });
  expectHelpfulMessage(verdict, words);
});

it('the Cluster continues without help after the correction', async () => {
  const { objects, platform } = open();
  await platform.merge(ProviderConfig, { name: 'unknown-extension' }, { spec: { talos: { extensions: [] } } });
  await eventually('it is ready', async () => {
    return (await objects.getCluster(ref('unknown-extension'))).status?.phase === 'Ready';
  });
});

it('all of it is deleted again, finished or not, and the provider logs no fault of its own', async () => {
  const { objects, platform } = open();
  for (const { metadata } of (await platform.list(Cluster)).items) await objects.remove(Cluster, ref(metadata.name));
  await eventually('nothing is left but the ProviderConfigs', async () => {
    const left = await listLeftovers(open());
    return left.every((name) => /^(ProviderConfig|ClusterProfile) /.test(name));
  });
  expectNoErrorsLogged(open());
});
