import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { isProviderCall } from '../../e2e/support/observation/provider-calls.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { type Measurement, ratioMeasurement } from '../measurement.ts';
import { awaitNoWrites, countProviderWrites } from '../write-counts.ts';
import { awaitUpToDate, changeConfig, labelPatches } from './changed-cluster.ts';

const ref: NamespacedRef = { namespace: 'bench', name: 'labelled' };
const config = 'labelled';
const controlPlanes = 3;
const workers = 3;

/**
 * The least calls for the change of one node:
 *
 * - At the platform: its release, the record that it has begun, the result, and an Event.
 * - At the node: the configuration that it has, whether it takes the new one without a restart, the new one, the proof
 *   that it is active, and whether the node is well.
 * - Before, at each control plane, because a node may only change in a healthy cluster: whether its API server is ready,
 *   and the status, the members and the alarms of etcd.
 *
 * In addition the Cluster and the ProviderConfig report the beginning and the end, and every node is compared once.
 */
const leastForNode = 4 + 5 + 4 * controlPlanes;
const nodes = controlPlanes + workers;
const leastCalls = nodes * leastForNode + 2 * 2 + nodes;

/** Watches, renewals of the Lease, and changes by the test are no calls of the change. */
const isCallOfChange = (call: InterceptedCall): boolean => {
  const { query = {} } = (call.detail ?? {}) as { query?: Readonly<Record<string, string>> };
  const isBackground = query['watch'] !== undefined || call.name.includes('/leases/') || /^core\./.test(call.name);
  return isProviderCall(call) && ['kube', 'workload', 'talos', 'truenas'].includes(call.simulator) && !isBackground;
};

/** Calls to all systems for one label on six nodes. */
export async function measureCallsOfLabel(say: (line: string) => void): Promise<readonly Measurement[]> {
  const testbed = await Testbed.open({ subnet: '127.42.235', timeScale: 0.005, speed: 1 });
  try {
    testbed.provider.start();
    await testbed.objects.credentials();
    await testbed.objects.config(config, { controlPlanes, workers });
    await testbed.objects.cluster(ref, { config });
    await awaitUpToDate(testbed, ref, 300);
    await awaitNoWrites(countProviderWrites(testbed));
    const start = testbed.calls.length;
    await changeConfig(testbed, config, labelPatches('fast'));
    await eventually(
      'every node has been changed',
      async () => {
        const machines = await testbed.objects.machines(ref);
        return machines.every(({ spec, status }) => spec.revision && spec.revision === status?.applied?.revision);
      },
      300,
    );
    await awaitUpToDate(testbed, ref, 300);
    const calls = testbed.calls.slice(start).filter(isCallOfChange);
    for (const line of listCounts(calls)) say(line);
    const words = `${calls.length} ÷ ${leastCalls}; ${formatSimulators(calls)}`;
    const what = `Calls for a label on the ${nodes} nodes of a cluster ÷ the least possible`;
    return [ratioMeasurement(what, calls.length, leastCalls, 1.5, words)];
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

const simulatorNames: Readonly<Record<string, string>> = {
  kube: 'platform',
  workload: 'cluster',
  talos: 'Talos',
  truenas: 'TrueNAS',
};

const formatSimulators = (calls: readonly InterceptedCall[]): string =>
  Object.entries(simulatorNames)
    .map(([simulator, name]) => `${name} ${calls.filter((call) => call.simulator === simulator).length}`)
    .join(', ');

/** The number of each kind of call, the most frequent first. */
function listCounts(calls: readonly InterceptedCall[]): string[] {
  const counts = new Map<string, number>();
  for (const { simulator, name } of calls) {
    const kind = `${simulator} ${name.replace(/labelled-[a-z0-9]+-(cp|work)-\d/, '<machine>').replace(/\/pods\/[^/]+/, '/pods/<pod>')}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${count} × ${name}`);
}
