import { accessSecretName } from '../../../src/api/names.ts';
import { AccessRequest } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, Secret, ServiceAccount } from '../../../src/kube/core-types.ts';
import { withAdminClient } from '../../e2e/support/access/workload-cluster.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { missingForRealKube } from '../../peers/kube-apiserver.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { type Benchmark, type Measurement, ratioMeasurement } from '../measurement.ts';
import {
  configMapReadRules,
  createAndAwaitGrants,
  createPendingRequest,
  createTargetCluster,
  inParallel,
  targetCluster,
} from './requests.ts';

/**
 * The number of AccessRequests per burst, and the number of bursts. Provider and minimal loop alternate, so that a slow
 * phase of the machine affects both.
 */
const bursts = [
  { count: 100, turns: 4 },
  { count: 1000, turns: 2 },
  { count: 5000, turns: 1 },
];
/** Created first by both: new processes have not compiled their code yet. */
const warmUp = 50;
/** The subnet of the nodes. */
const testbedOptions = { subnet: '127.42.201' };

/** Only the calls that every implementation needs: no checks, no cache, no events. */
async function runMinimalLoop(testbed: Testbed, admin: KubeClient, count: number, prefix = 'bare'): Promise<number> {
  const startedAt = performance.now();
  await inParallel(count, async (i) => {
    const name = `${prefix}-${i}`;
    const ref = { namespace: 'bench', name };
    // Of another provider, so that the provider under test ignores it.
    const { metadata } = await createPendingRequest(testbed, name, 'nobody');
    await testbed.platform.merge(AccessRequest, ref, { metadata: { finalizers: ['bench.example.org/held'] } });
    await admin.create(ServiceAccount, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'bare', name },
    });
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
    await admin.create(ClusterRole, { ...role, kind: 'ClusterRole', rules: configMapReadRules });
    await admin.create(ClusterRoleBinding, {
      ...role,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'bare', name }],
    });
    const { token } = await admin.requestToken({ namespace: 'bare', name }, { expirationSeconds: 86_400 });
    await testbed.platform.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'bench', name: accessSecretName(ref) },
      data: { token: Buffer.from(token.reveal()).toString('base64') },
    });
    const status = { phase: 'Granted', observedGeneration: metadata.generation ?? 1 };
    await testbed.platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
  });
  return performance.now() - startedAt;
}

/** A burst of this size on separate API servers: first the minimal calls, then the provider. */
async function compareBurst(
  { count, turns }: (typeof bursts)[number],
  say: (line: string) => void,
): Promise<Measurement> {
  const testbed = await Testbed.open({
    ...testbedOptions,
    platform: 'real',
    workload: 'real',
    provider: { asProgram: { speed: 1, verbosity: 'info' } },
  });
  try {
    testbed.provider.start();
    await createTargetCluster(testbed);
    return await withAdminClient(testbed, targetCluster, async (admin) => {
      await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bare' } });
      await runMinimalLoop(testbed, admin, warmUp, 'bare-before');
      await createAndAwaitGrants(testbed, warmUp, 'before');
      let [bare, mine] = [0, 0];
      for (let turn = 0; turn < turns; turn += 1) {
        bare += (await runMinimalLoop(testbed, admin, count, `bare-${turn}`)) / turns;
        mine += (await createAndAwaitGrants(testbed, count, `ours-${turn}`)) / turns;
      }
      const seconds = `${(mine / 1000).toFixed(1)} s ÷ ${(bare / 1000).toFixed(1)} s`;
      say(`${count}: ${seconds}`);
      const what = `${count} AccessRequests from created to granted ÷ a bare loop of the unavoidable calls`;
      return ratioMeasurement(what, mine, bare, 1.25, seconds);
    });
  } finally {
    await testbed.close();
  }
}

/** Many simultaneous grants on real API servers, compared with the minimal calls on the same servers. */
export const grantBenchmark: Benchmark = {
  name: 'Granting access',
  missing: missingForRealKube(true) ?? missingForRealWorkload(),
  async measure(say) {
    const figures: Measurement[] = [];
    for (const burst of bursts) figures.push(await compareBurst(burst, say));
    return figures;
  },
};
