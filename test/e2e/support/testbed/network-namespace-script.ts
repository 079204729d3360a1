/**
 * The whole world with the provider in it at addresses that are not of loopback: makes a cluster and takes it away again,
 * and prints what was seen as one line of JSON. Started by a test in a network namespace of its own, where nothing else
 * can be met.
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
