import { expect, it } from 'vitest';
import { openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { missingForRealKube } from '../../peers/kube-apiserver.ts';
import { eventually } from '../../support/eventually.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { ConfigMap, listAccessObjects, withGrantedClient } from '../support/access/workload-cluster.ts';
import { listLeftovers, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { acceleratedClock } from '../support/provider-process/accelerated-clock.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingForRealKube(true) ?? missingForRealWorkload();
if (missing) it('restarts of real kube-apiservers change nothing', ({ skip }) => skip(missing));
else withRealApiServers();

function withRealApiServers(): void {
  const speed = 20;
  const open = startReplicaTestbed(
    { subnet: '127.42.128', speed, platform: 'real', workload: 'real' },
    async (testbed) => [
      await InProcessReplica.open(testbed, {
        name: 'talos-0',
        address: '127.42.129.1',
        watchClock: acceleratedClock(speed),
      }),
    ],
  );
  const main = { namespace: 'shop', name: 'main' };
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
  const asked = Array.from({ length: 8 }, (_, i) => ({ namespace: 'shop', name: `ask-${i}` }));

  /** Creates a request as the operator assigns it. */
  async function handOver(ref: NamespacedRef): Promise<void> {
    const { platform, objects } = open().testbed;
    await objects.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
    const labels = { [openmcpKeys.provider]: 'talos', [openmcpKeys.profile]: objects.profileOf('home') };
    await platform.merge(AccessRequest, ref, { metadata: { labels } });
    await putBack(ref);
  }

  /** Sets the phase that the operator sets after each new generation; deletion creates one. */
  async function putBack(ref: NamespacedRef): Promise<void> {
    const { platform, objects } = open().testbed;
    const { metadata } = await objects.getRequest(ref);
    const status = { phase: 'Pending', observedGeneration: metadata.generation ?? 1 };
    await platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
  }

  const machineSays = async (step: string): Promise<boolean> =>
    (await open().testbed.objects.machines(main)).some(({ status }) => status?.progress?.step === step);
  const areGone = async (refs: readonly NamespacedRef[]): Promise<boolean> =>
    (await Promise.all(refs.map((ref) => open().testbed.objects.exists(AccessRequest, ref)))).every((is) => !is);

  prepareTestbed(
    () => open().testbed,
    async ({ objects }) => {
      await objects.credentials();
      await objects.config('home', { controlPlanes: 1 });
    },
  );

  it('that of the platform in the middle of a machine creation', async () => {
    await open().testbed.objects.cluster(main);
    await eventually('a machine is being made', () => machineSays('image-cached'));
    await open().testbed.restartPlatform();
    await eventually('the Cluster is ready', () => open().isReady(main), 90);
    expect(listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('VM '))).toHaveLength(1);
  });

  it('that of the cluster and then that of the platform in the middle of eight grants', async () => {
    await Promise.all(asked.map(handOver));
    await open().testbed.world.machines.crashApiServer(open().testbed.world.machines.nodes()[0]?.name ?? '');
    await open().testbed.restartPlatform();
    for (const ref of asked) await eventually(`${ref.name} is granted`, () => open().isGranted(ref));
    for (const ref of asked) expect(await listAccessObjects(open().testbed, main, ref)).toHaveLength(3);
    await withGrantedClient(open().testbed, asked[0] ?? main, async (holder) => await holder.list(ConfigMap));
  });

  it('that of the platform during the deletion of everything', async () => {
    const { objects } = open().testbed;
    await Promise.all(asked.map((ref) => objects.remove(AccessRequest, ref)));
    await Promise.all(asked.map(putBack));
    await open().testbed.restartPlatform();
    await eventually('the requests are gone', () => areGone(asked));
    await objects.remove(Cluster, main);
    await eventually('a machine goes', async () =>
      (await objects.machines(main)).every(({ metadata }) => metadata.deletionTimestamp),
    );
    await open().testbed.restartPlatform();
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, main)));
    await objects.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await listLeftovers(open().testbed)).toEqual([]);
      return true;
    });
  });

  it('the provider logs no fault of its own', () => {
    expect(open().pod.deaths).toEqual([]);
    expect(open().pod.faults()).toEqual([]);
  });
}
