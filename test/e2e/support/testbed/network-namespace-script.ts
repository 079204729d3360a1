/**
 * Runs all simulators and the provider at addresses outside of loopback: creates a cluster and deletes it, and prints
 * the observations as one line of JSON. A test starts it in a network namespace of its own, without any other service.
 */
import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { eventually } from '../../../support/eventually.ts';
import { Testbed } from './testbed.ts';

const [subnet = '192.0.2'] = process.argv.slice(2);
const ref = { namespace: 'team', name: 'one' };

const stage = await Testbed.open({ subnet, host: `${subnet}.1` });
try {
  const { things, world } = stage;
  await stage.provider.start();
  await things.credentials();
  await things.config('home');
  await things.cluster(ref);
  const ready = await eventually(
    'the cluster is ready',
    async () => {
      const { status } = await things.getCluster(ref);
      return status?.phase === 'Ready' && status;
    },
    60,
  );
  const nodes = world.machines.nodes().flatMap(({ addresses }) => addresses);
  await things.remove(Cluster, ref);
  await eventually('the cluster is gone', async () => !(await things.exists(Cluster, ref)), 60);
  const left = world.truenas.nas.vms.size;
  const rooms = world.lines.map(({ url }) => url);
  process.stdout.write(
    `${JSON.stringify({ endpoint: ready.apiServer, nodes, rooms, left, faults: stage.faults() })}\n`,
  );
} finally {
  await stage.close();
}
process.exit(0);
