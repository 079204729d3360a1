import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openmcp } from '../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { missingForRealKube } from '../peers/kube-apiserver.ts';
import { missingForRealWorkload } from '../world/talos/workload/real.ts';
import { hurried } from './support/clock.ts';
import { eventually } from './support/eventually.ts';
import { NetworkedPod } from './support/pod.ts';
import { Stage } from './support/stage.ts';
import { nasTraces, traces } from './support/traces.ts';
import { ConfigMap, madeFor, withAccess } from './support/workload.ts';

const missing = missingForRealKube(true) ?? missingForRealWorkload();
if (missing) it('restarts of real kube-apiservers change nothing', ({ skip }) => skip(missing));
else withRealApiServers();

function withRealApiServers(): void {
  const speed = 20;
  let stage: Stage;
  let pod: NetworkedPod;
  const main = { namespace: 'shop', name: 'main' };
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
  const asked = Array.from({ length: 8 }, (_, i) => ({ namespace: 'shop', name: `ask-${i}` }));

  /** A request as the operator hands it over. */
  async function handOver(ref: NamespacedRef): Promise<void> {
    const { platform, things } = stage;
    await things.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
    const labels = { [openmcp.provider]: 'talos', [openmcp.profile]: things.profileOf('home') };
    await platform.merge(AccessRequest, ref, { metadata: { labels } });
    await putBack(ref);
  }

  /** What the operator does with each new generation; deletion makes one. */
  async function putBack(ref: NamespacedRef): Promise<void> {
    const { platform, things } = stage;
    const { metadata } = await things.getRequest(ref);
    const status = { phase: 'Pending', observedGeneration: metadata.generation ?? 1 };
    await platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
  }

  const machineSays = async (step: string): Promise<boolean> =>
    (await stage.things.machines(main)).some(({ status }) => status?.progress?.step === step);
  const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
    (await stage.things.getRequest(ref)).status?.phase === 'Granted';
  const areGone = async (refs: readonly NamespacedRef[]): Promise<boolean> =>
    (await Promise.all(refs.map((ref) => stage.things.exists(AccessRequest, ref)))).every((is) => !is);

  beforeAll(async () => {
    stage = await Stage.open({ subnet: '127.42.128', speed, platform: 'real', workload: 'real' });
    pod = await NetworkedPod.open(stage, { name: 'talos-0', address: '127.42.129.1', watchClock: hurried(speed) });
    pod.start();
    await stage.things.credentials();
    await stage.things.config('home', { controlPlanes: 1 });
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(pod.tail() + stage.tail());
    });
  });
  afterAll(async () => {
    await pod?.close();
    await stage?.close();
  });

  it('that of the platform in the middle of making a machine', async () => {
    await stage.things.cluster(main);
    await eventually('a machine is being made', () => machineSays('image-cached'));
    await stage.restartPlatform();
    const isReady = async () => (await stage.things.getCluster(main)).status?.phase === 'Ready';
    await eventually('the Cluster is ready', isReady, 90);
    expect(nasTraces(stage).filter((trace) => trace.startsWith('VM '))).toHaveLength(1);
  });

  it('that of the cluster and then that of the platform in the middle of eight grants', async () => {
    await Promise.all(asked.map(handOver));
    await stage.world.machines.crashApiServer(stage.world.machines.nodes()[0]?.name ?? '');
    await stage.restartPlatform();
    for (const ref of asked) await eventually(`${ref.name} is granted`, () => isGranted(ref));
    for (const ref of asked) expect(await madeFor(stage, main, ref)).toHaveLength(3);
    await withAccess(stage, asked[0] ?? main, async (holder) => await holder.list(ConfigMap));
  });

  it('that of the platform while all is taken down', async () => {
    const { things } = stage;
    await Promise.all(asked.map((ref) => things.remove(AccessRequest, ref)));
    await Promise.all(asked.map(putBack));
    await stage.restartPlatform();
    await eventually('the requests are gone', () => areGone(asked));
    await things.remove(Cluster, main);
    await eventually('a machine goes', async () =>
      (await things.machines(main)).every(({ metadata }) => metadata.deletionTimestamp),
    );
    await stage.restartPlatform();
    await eventually('the Cluster is gone', async () => !(await things.exists(Cluster, main)));
    await things.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await traces(stage)).toEqual([]);
      return true;
    });
  });

  it('nothing of all this is a fault of the provider', () => {
    expect(pod.deaths).toEqual([]);
    expect(pod.faults()).toEqual([]);
  });
}
