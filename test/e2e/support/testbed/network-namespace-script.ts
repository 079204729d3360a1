/**
 * Runs all simulators and the provider at addresses outside of loopback: creates a cluster and deletes it, and prints
 * the observations as one line of JSON. A test starts it in a network namespace of its own, without any other service.
 */
import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { eventually } from '../../../support/eventually.ts';
import { Testbed } from './testbed.ts';

const [subnet = '192.0.2'] = process.argv.slice(2);
const ref = { namespace: 'team', name: 'one' };

const testbed = await Testbed.open({ subnet, host: `${subnet}.1` });
try {
  const { objects, world } = testbed;
  await testbed.provider.start();
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(ref);
  const ready = await eventually(
    'the cluster is ready',
    async () => {
      const { status } = await objects.getCluster(ref);
      return status?.phase === 'Ready' && status;
    },
    60,
  );
  const nodes = world.machines.nodes().flatMap(({ addresses }) => addresses);
  await objects.remove(Cluster, ref);
  await eventually('the cluster is gone', async () => !(await objects.exists(Cluster, ref)), 60);
  const left = world.truenas.nas.vms.size;
  const simulators = world.lines.map(({ url }) => url);
  process.stdout.write(
    `${JSON.stringify({ endpoint: ready.apiServer, nodes, simulators, left, faults: testbed.faults() })}\n`,
  );
} finally {
  await testbed.close();
}
process.exit(0);
