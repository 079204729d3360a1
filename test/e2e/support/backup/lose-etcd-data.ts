import type { Machine } from '../../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { openTalosClient } from '../../../../src/talos/client/client.ts';
import { createTalosCredentials } from '../../../../src/talos/secrets/client-credentials.ts';
import { readSecretsBundle } from '../access/workload-cluster.ts';
import type { Testbed } from '../testbed/testbed.ts';

/**
 * These control planes lose their data at the same time, as by a wrong command. The connections are open before: one that
 * loses them alone joins the others again within milliseconds of real time.
 */
export async function loseEtcdData(testbed: Testbed, ref: NamespacedRef, machines: readonly Machine[]): Promise<void> {
  const credentials = createTalosCredentials(await readSecretsBundle(testbed, ref), systemClock);
  const nodes = machines.map(({ status }) => openTalosClient({ address: status?.address ?? '', credentials }));
  try {
    await Promise.all(nodes.map((node) => node.version()));
    await Promise.all(nodes.map((node) => node.reset({ graceful: false, reboot: true, wipe: 'data' })));
  } finally {
    for (const node of nodes) await node.close();
  }
}
