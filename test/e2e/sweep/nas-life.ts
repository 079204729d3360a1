import { expect } from 'vitest';
import { isTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../src/api/openmcp.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import type { Stage } from '../support/stage.ts';
import { providerCalls, traces } from '../support/traces.ts';
import { ConfigMap, grantedKubeconfig, madeFor, withAccess } from '../support/workload.ts';
import { type Acts, eventually, scriptOf } from './life.ts';
import type { Script } from './trial.ts';

const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const secret = { namespace: main.namespace, name: 'main.kubeconfig' };
const day = 24 * 3600;

const rise: Acts = {
  async offer({ things }) {
    await things.credentials();
    await things.config('home', { controlPlanes: 1 });
    await eventually(
      'the ProviderConfig is ready',
      async () => (await things.getConfig('home')).status?.phase === 'Ready',
    );
  },
  async create({ things }) {
    await things.cluster(main);
    await eventually('the Cluster is ready', async () => (await things.getCluster(main)).status?.phase === 'Ready');
    await eventually('its machine is done', async () => (await things.machines(main)).every(isDone));
  },
  async grant(stage) {
    const token = { permissions: [{ rules }, { namespace: 'inside', rules }] };
    await stage.things.request(main, { clusterRef: main, token });
    await isGranted(stage);
  },
  async renew(stage) {
    const before = await grantedKubeconfig(stage, main);
    await age(stage);
    await eventually('the token is renewed', async () => (await grantedKubeconfig(stage, main)) !== before);
    await isGranted(stage);
  },
  async change(stage) {
    const token = { permissions: [{ namespace: 'inside', rules }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] };
    await stage.platform.merge(AccessRequest, main, { spec: { token } });
    await isGranted(stage);
  },
  async grow({ things, platform }) {
    const workerPools = [{ name: 'work', replicas: 1, size: 'small' }];
    const kubernetes = { versions: [{ version: '1.35.4' }] };
    await platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools, kubernetes } });
    // Who was stopped just now comes to it later than to the worker.
    await eventually('the profile offers one version', async () => {
      const { spec } = await platform.get(ClusterProfile, { name: things.profileOf('home') });
      return spec.supportedVersions.length === 1;
    });
    await eventually('the worker is there', async () => {
      const machines = await things.machines(main);
      const { status } = await things.getCluster(main);
      const isWhole =
        machines.length === 2 &&
        machines.every((machine) => isDone(machine) && isTrue(machine.status?.conditions, 'Ready'));
      return isWhole && status?.phase === 'Ready' && status.providerStatus?.['workers'] === 1;
    });
  },
  async repair({ things, world }) {
    const { vms } = world.truenas.dump();
    const worker = vms.map((vm) => String((vm as { name?: string }).name)).find((name) => name.includes('_work_'));
    await world.truenas.powerOff(worker ?? '');
    await eventually('the worker runs again', async () => {
      const nodes = world.machines.nodes().filter(({ hostname }) => hostname.includes('-work-'));
      const machines = await things.machines(main);
      const { status } = await things.getCluster(main);
      return (
        nodes.some(({ ready }) => ready) &&
        machines.every((machine) => isDone(machine) && isTrue(machine.status?.conditions, 'Ready')) &&
        status?.phase === 'Ready'
      );
    });
  },
  async rest({ calls }) {
    const isRenewal = /^PUT .*\/leases\/cluster-provider-talos-/;
    await eventually('the Lease is held on to', () => providerCalls(calls).some(({ name }) => isRenewal.test(name)));
  },
};

const fall: Acts = {
  async withdraw(stage) {
    await stage.things.remove(AccessRequest, main);
    await eventually('the request is gone', async () => !(await stage.things.exists(AccessRequest, main)));
    expect(await madeFor(stage, main, main)).toEqual([]);
  },
  async delete({ things }) {
    await things.remove(Cluster, main);
    await eventually('the Cluster is gone', async () => !(await things.exists(Cluster, main)));
  },
  async retract(stage) {
    await stage.things.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await traces(stage)).toEqual([]);
      return true;
    });
  },
};

/** Of a Cluster of VMs: made, access granted, renewed and changed, a worker added, which is switched off by hand, everything taken down. */
export const nasLife: Script = scriptOf({
  cluster: main,
  rise,
  height: async (stage) => {
    await withAccess(stage, main, (holder) => holder.list(ConfigMap, { namespace: 'inside' }));
  },
  fall,
});

/** A member is ready before everything is done that has to be done for it. */
const isDone = ({ status }: Machine): boolean => status?.progress?.finishedAt !== undefined;

async function isGranted({ things }: Stage): Promise<void> {
  await eventually('access is granted', async () => {
    const { metadata, status } = await things.getRequest(main);
    return status?.phase === 'Granted' && status.observedGeneration === metadata.generation;
  });
}

/** The token was made so long ago that a new one is due. */
async function age({ platform }: Stage): Promise<void> {
  const encode = (days: number): string =>
    Buffer.from(String(Math.floor(Date.now() / 1000) + days * day)).toString('base64');
  await platform.merge(Secret, secret, { data: { creationTimestamp: encode(-25), expirationTimestamp: encode(5) } });
}
