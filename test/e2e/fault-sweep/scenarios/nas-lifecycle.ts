import { expect } from 'vitest';
import { isConditionTrue } from '../../../../src/api/conditions.ts';
import type { Machine } from '../../../../src/api/machine.ts';
import { NodePool } from '../../../../src/api/node-pool.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import {
  ConfigMap,
  grantedKubeconfig,
  listAccessObjects,
  withGrantedClient,
} from '../../support/access/workload-cluster.ts';
import { listLeftovers, providerCalls } from '../../support/observation/provider-calls.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import type { Scenario } from '../scenario-run.ts';
import { eventuallyInSweep, type LifecyclePhases, scenarioOf } from './cluster-lifecycle.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const secret = { namespace: clusterRef.namespace, name: 'main.kubeconfig' };
const day = 24 * 3600;

const creation: LifecyclePhases = {
  async offer({ objects }) {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
    await eventuallyInSweep(
      'the ProviderConfig is ready',
      async () => (await objects.getConfig('home')).status?.phase === 'Ready',
    );
  },
  async create({ objects }) {
    await objects.cluster(clusterRef);
    await eventuallyInSweep(
      'the Cluster is ready',
      async () => (await objects.getCluster(clusterRef)).status?.phase === 'Ready',
    );
    await eventuallyInSweep('its machine is done', async () =>
      (await objects.machines(clusterRef)).every(isProvisioned),
    );
  },
  async grant(testbed) {
    const token = { permissions: [{ rules }, { namespace: 'inside', rules }] };
    await testbed.objects.request(clusterRef, { clusterRef: clusterRef, token });
    await awaitGranted(testbed);
  },
  async renew(testbed) {
    const before = await grantedKubeconfig(testbed, clusterRef);
    await ageToken(testbed);
    await eventuallyInSweep(
      'the token is renewed',
      async () => (await grantedKubeconfig(testbed, clusterRef)) !== before,
    );
    await awaitGranted(testbed);
  },
  async change(testbed) {
    const token = { permissions: [{ namespace: 'inside', rules }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] };
    await testbed.platform.merge(AccessRequest, clusterRef, { spec: { token } });
    await awaitGranted(testbed);
  },
  async grow({ objects, platform }) {
    const workers = (replicas: number) => [{ name: 'work', replicas, size: 'small' }];
    const kubernetes = { versions: [{ version: '1.35.4' }] };
    await platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools: workers(0), kubernetes } });
    // A provider that was just stopped may reach it after the worker.
    await eventuallyInSweep('the profile offers one version', async () => {
      const { spec } = await platform.get(ClusterProfile, { name: objects.profileOf('home') });
      return spec.supportedVersions.length === 1;
    });
    await eventuallyInSweep('its NodePool is there', async () => (await platform.list(NodePool)).items.length === 1);
    await platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools: workers(1) } });
    await eventuallyInSweep('the worker is there', async () => {
      const machines = await objects.machines(clusterRef);
      const { status } = await objects.getCluster(clusterRef);
      const isWhole =
        machines.length === 2 &&
        machines.every((machine) => isProvisioned(machine) && isConditionTrue(machine.status?.conditions, 'Ready'));
      // With the first worker the control plane is not schedulable any more.
      const isUpToDate = isConditionTrue(status?.conditions, 'UpToDate');
      return isWhole && isUpToDate && status?.phase === 'Ready' && status.providerStatus?.['workers'] === 1;
    });
  },
  async repair({ objects, world }) {
    const { vms } = world.truenas.dump();
    const worker = vms.map((vm) => String((vm as { name?: string }).name)).find((name) => name.includes('_work_'));
    await world.truenas.powerOff(worker ?? '');
    await eventuallyInSweep('the worker runs again', async () => {
      const nodes = world.machines.nodes().filter(({ hostname }) => hostname.includes('-work-'));
      const machines = await objects.machines(clusterRef);
      const { status } = await objects.getCluster(clusterRef);
      return (
        nodes.some(({ ready }) => ready) &&
        machines.every((machine) => isProvisioned(machine) && isConditionTrue(machine.status?.conditions, 'Ready')) &&
        status?.phase === 'Ready'
      );
    });
  },
  async rest({ calls }) {
    const isRenewal = /^PUT .*\/leases\/cluster-provider-talos-/;
    await eventuallyInSweep('the Lease is held on to', () =>
      providerCalls(calls).some(({ name }) => isRenewal.test(name)),
    );
  },
};

const teardown: LifecyclePhases = {
  async withdraw(testbed) {
    await testbed.objects.remove(AccessRequest, clusterRef);
    await eventuallyInSweep(
      'the request is gone',
      async () => !(await testbed.objects.exists(AccessRequest, clusterRef)),
    );
    expect(await listAccessObjects(testbed, clusterRef, clusterRef)).toEqual([]);
  },
  async delete({ objects }) {
    await objects.remove(Cluster, clusterRef);
    await eventuallyInSweep('the Cluster is gone', async () => !(await objects.exists(Cluster, clusterRef)));
  },
  async retract(testbed) {
    await testbed.objects.remove(ProviderConfig, { name: 'home' });
    await eventuallyInSweep('nothing is left', async () => {
      expect(await listLeftovers(testbed)).toEqual([]);
      return true;
    });
  },
};

/**
 * The lifecycle of a Cluster of VMs: creation; access granted, renewed and changed; a worker added, which is switched
 * off by hand; deletion.
 */
export const nasLifecycle: Scenario = scenarioOf({
  cluster: clusterRef,
  rise: creation,
  height: async (testbed) => {
    await withGrantedClient(testbed, clusterRef, (holder) => holder.list(ConfigMap, { namespace: 'inside' }));
  },
  fall: teardown,
});

/** A member is ready before all of its steps are done. */
const isProvisioned = ({ status }: Machine): boolean => status?.progress?.finishedAt !== undefined;

async function awaitGranted({ objects }: Testbed): Promise<void> {
  await eventuallyInSweep('access is granted', async () => {
    const { metadata, status } = await objects.getRequest(clusterRef);
    return status?.phase === 'Granted' && status.observedGeneration === metadata.generation;
  });
}

/** The token was created so long ago that its renewal is due. */
async function ageToken({ platform }: Testbed): Promise<void> {
  const encode = (days: number): string =>
    Buffer.from(String(Math.floor(Date.now() / 1000) + days * day)).toString('base64');
  await platform.merge(Secret, secret, { data: { creationTimestamp: encode(-25), expirationTimestamp: encode(5) } });
}
