import { expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { missingDocker } from '../../support/docker.ts';
import { eventually } from '../../support/eventually.ts';
import { expectNoErrorsLogged } from '../support/objects/submission-result.ts';
import { listLeftovers } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const ref = { namespace: 'shop', name: 'first' };

describeUnlessMissing('on k3s as the platform cluster', await missingDocker(), () => {
  const open = startTestbed({ subnet: '127.42.135', platform: 'k3s' });

  prepareTestbed(open, async ({ objects }) => {
    await objects.credentials();
    await objects.config('home');
    await objects.cluster(ref);
  });

  it('a Cluster becomes ready', async () => {
    const { objects } = open();
    await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 90);
    expect(await objects.machines(ref)).toHaveLength(1);
  });

  it('and is deleted again, with nothing left behind', async () => {
    const { objects } = open();
    await objects.remove(Cluster, ref);
    await objects.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => (await listLeftovers(open())).length === 0);
    expectNoErrorsLogged(open());
  });
});
