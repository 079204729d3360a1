import { expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openTalosClient } from '../../../src/talos/client/client.ts';
import type { SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { createTalosCredentials } from '../../../src/talos/secrets/talos-credentials.ts';
import { eventually } from '../../support/eventually.ts';
import { readSecretsBundle } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.249' });
const ref = { namespace: 'shop', name: 'web' };

const machines = () => open().objects.machines(ref);
const conditionOf = async (type: string) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find((one) => one.type === type);
const request = (authority: string) => open().objects.annotate(Cluster, ref, { [annotations.rotateCa]: authority });

/** The Events of the rotations in their order. */
async function story(): Promise<string[]> {
  const { items } = await open().platform.list(Event, {});
  return items
    .filter(({ reason }) => /^Rotation/.test(reason ?? ''))
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ message }) => message ?? '');
}

/** Whether a node accepts a client with these authorities, and shows a certificate that such a client trusts. */
async function isAcceptedBy(address: string, bundle: SecretsBundle): Promise<boolean> {
  const node = openTalosClient({ address, credentials: createTalosCredentials(bundle, systemClock) });
  try {
    await node.version();
    return true;
  } catch {
    return false;
  } finally {
    await node.close();
  }
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 1, workers: 0 });
  await objects.cluster(ref);
  await eventually('it is up to date', async () => (await conditionOf('UpToDate'))?.status === 'True', 200);
});

it('the Talos CA', async () => {
  const before = await readSecretsBundle(open(), ref);
  await request('talos');
  await eventually(
    'it is rotated',
    async () => (await conditionOf('CertificateAuthoritiesRotated'))?.status === 'True',
    200,
  );
  const after = await readSecretsBundle(open(), ref);
  expect(await story()).toEqual([]);
  for (const { status } of await machines()) {
    expect(await isAcceptedBy(status?.address ?? '', after)).toBe(true);
    expect(await isAcceptedBy(status?.address ?? '', before)).toBe(false);
  }
}, 300_000);
