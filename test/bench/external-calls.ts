import { Machine } from '../../src/api/machine.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp/types.ts';
import { isProviderCall } from '../e2e/support/observation/provider-calls.ts';
import { Testbed } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';
import type { InterceptedCall } from '../world/faults/call-interceptor.ts';
import type { Benchmark, Measurement } from './measurement.ts';

const permission = { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] };

/** The number of each call, e.g. `vm.query ×3`. */
function formatCounts(calls: readonly InterceptedCall[], nameOf = (call: InterceptedCall) => call.name): string {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(nameOf(call), (counts.get(nameOf(call)) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? `\`${name}\`` : `\`${name}\` ×${count}`)).join(', ');
}

/** Method and kind of object; names differ between runs. */
const requestKind = ({ name }: InterceptedCall): string =>
  name
    .replace(/\/namespaces\/[^/]+\/(?=[a-z])/, '/')
    .replace(/^([A-Z]+) .*?\/(v1|v1alpha1)\//, '$1 ')
    .replace(/^([A-Z]+ [a-z]+)\/[^/]+/, '$1');

const benchRef = (name: string): NamespacedRef => ({ namespace: 'bench', name });

async function openTestbed(): Promise<Testbed> {
  const testbed = await Testbed.open({ subnet: '127.42.200' });
  testbed.provider.start();
  await testbed.objects.credentials();
  await testbed.objects.config('home');
  return testbed;
}

async function createReadyCluster({ platform, objects }: Testbed, ref: NamespacedRef): Promise<void> {
  await objects.cluster(ref);
  await eventually('it is ready', async () => (await platform.get(Cluster, ref)).status?.phase === 'Ready');
}

async function deleteCluster({ platform, objects }: Testbed, ref: NamespacedRef): Promise<void> {
  await objects.remove(Cluster, ref);
  await eventually('it is gone', async () => (await platform.find(Cluster, ref)) === undefined);
}

async function createGrantedRequest(
  { platform, objects }: Testbed,
  name: string,
  cluster: NamespacedRef,
): Promise<void> {
  await objects.request(benchRef(name), { clusterRef: cluster, token: { permissions: [permission] } });
  await eventually('it is granted', async () => {
    return (await platform.get(AccessRequest, benchRef(name))).status?.phase === 'Granted';
  });
}

/** The calls to TrueNAS for one machine whose image exists already, and the calls to API servers for one grant. */
export const externalCallsBenchmark: Benchmark = {
  name: 'Calls to the outside',
  async measure(say) {
    const testbed = await openTestbed();
    const during = async (work: () => Promise<void>): Promise<readonly InterceptedCall[]> => {
      const before = testbed.calls.length;
      await work();
      return testbed.calls.slice(before).filter(isProviderCall);
    };
    try {
      await createReadyCluster(testbed, benchRef('first'));
      say('the boot image is cached');
      const up = (await during(() => createReadyCluster(testbed, benchRef('second')))).filter(
        ({ simulator }) => simulator === 'truenas',
      );
      await createGrantedRequest(testbed, 'warm', benchRef('second'));
      const grant = (await during(() => createGrantedRequest(testbed, 'counted', benchRef('second')))).filter(
        ({ simulator }) => simulator === 'kube' || simulator === 'workload',
      );
      const down = (await during(() => deleteCluster(testbed, benchRef('second')))).filter(
        ({ simulator }) => simulator === 'truenas',
      );
      const machines = (await testbed.platform.list(Machine)).items.length;
      if (machines !== 1) throw new Error(`one machine should be left, not ${machines}`);
      const figures: Measurement[] = [
        {
          what: 'TrueNAS calls for one machine, from nothing to a ready cluster',
          measured: `${up.length}: ${formatCounts(up)}`,
          goal: '',
        },
        { what: 'TrueNAS calls for its release', measured: `${down.length}: ${formatCounts(down)}`, goal: '' },
        {
          what: 'Kubernetes calls for one grant of one permission (with renewals of the Lease and reads of the Cluster)',
          measured: `${grant.length}: ${formatCounts(grant, (call) => `${call.simulator === 'kube' ? 'platform' : 'cluster'} ${requestKind(call)}`)}`,
          goal: '',
        },
      ];
      return figures;
    } finally {
      await testbed.close();
    }
  },
};
