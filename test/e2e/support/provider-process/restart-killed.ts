import { Lease } from '../../../../src/kube/core-types.ts';
import type { Testbed } from '../testbed/testbed.ts';

/**
 * Kills the provider as `kill -9` does, and starts it again. Other processes cannot know that it is dead, and would wait
 * until its Lease has expired. Here the death is certain, so the Lease is emptied.
 */
export async function restartKilled(testbed: Testbed): Promise<void> {
  await testbed.provider.kill();
  await emptyLease(testbed);
  testbed.provider.start();
}

export async function emptyLease({ platform, namespace }: Testbed): Promise<void> {
  const { items } = await platform.list(Lease, { namespace });
  const name = items.map(({ metadata }) => metadata.name).find((one) => one.startsWith('cluster-provider-talos-'));
  if (name) await platform.merge(Lease, { namespace, name }, { spec: { holderIdentity: '' } });
}
