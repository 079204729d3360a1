import { expect, it } from 'vitest';
import { Cluster } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { missingDocker } from '../support/docker.ts';
import { describeWith } from '../support/needs.ts';
import { eventually } from './support/eventually.ts';
import { prepare, startStage } from './support/hooks.ts';
import { traces } from './support/traces.ts';
import { expectQuiet } from './support/verdicts.ts';

const ref = { namespace: 'shop', name: 'first' };

describeWith('on k3s as the platform cluster', await missingDocker(), () => {
  const open = startStage({ subnet: '127.42.135', platform: 'k3s' });

  prepare(open, async ({ things }) => {
    await things.credentials();
    await things.config('home');
    await things.cluster(ref);
  });

  it('a Cluster becomes ready', async () => {
    const { things } = open();
    await eventually('it is ready', async () => (await things.getCluster(ref)).status?.phase === 'Ready', 90);
    expect(await things.machines(ref)).toHaveLength(1);
  });

  it('and goes again, with nothing left behind', async () => {
    const { things } = open();
    await things.remove(Cluster, ref);
    await things.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => (await traces(open())).length === 0);
    expectQuiet(open());
  });
});
