import { afterAll, describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations, openmcpKeys } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { eventually } from '../../support/eventually.ts';
import { renderAdminKubeconfig } from '../../talos/admin-kubeconfig.ts';
import { ApiServerPoller } from '../support/access/api-server-poller.ts';
import {
  ConfigMap,
  clientFromKubeconfig,
  readSecretsBundle,
  withAdminClient,
} from '../support/access/workload-cluster.ts';
import { restartKilled } from '../support/provider-process/restart-killed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.224' });
const ref = { namespace: 'shop', name: 'web' };
const versions = ['1.33.5', '1.34.3', '1.35.4', '1.36.1'].map((version) => ({ version }));

interface DaemonSet extends KubeObject {
  readonly spec?: { readonly template?: unknown };
}
const DaemonSet: ResourceType<DaemonSet> = {
  ...{ group: 'apps', version: 'v1', kind: 'DaemonSet', plural: 'daemonsets', namespaced: true },
};

const machines = () => open().objects.machines(ref);
const cluster = () => open().objects.getCluster(ref);
const request = (version: string) => open().platform.merge(Cluster, ref, { spec: { kubernetes: { version } } });
const change = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const conditionOf = async (type: string) => (await cluster()).status?.conditions?.find((one) => one.type === type);
const isUpToDate = ({ status }: Pick<Machine, 'status'>) => isConditionTrue(status?.conditions, 'UpToDate');
const minorOf = (version: string | undefined): number => Number(version?.split('.')[1] ?? Number.NaN);

/** The Events of the upgrade in their order. */
async function story(): Promise<string[]> {
  const { items } = await open().platform.list(Event, {});
  return items
    .filter(({ reason }) => /^Upgrade/.test(reason ?? ''))
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ message }) => message ?? '');
}

/** What every moment of an upgrade has to satisfy. */
function expectSkew(all: readonly Machine[]): void {
  const servers = all.flatMap(({ status }) => status?.applied?.components?.apiServer ?? []).map(minorOf);
  const oldest = Math.min(...servers);
  expect(Math.max(...servers) - oldest).toBeLessThanOrEqual(1);
  for (const { status } of all) {
    const { kubernetesVersion, components } = status?.applied ?? {};
    for (const version of [kubernetesVersion, components?.controllerManager, components?.scheduler])
      if (version !== undefined) expect(minorOf(version)).toBeLessThanOrEqual(oldest);
  }
  expect(all.filter(({ status }) => status?.progress?.plan === 'update').length).toBeLessThanOrEqual(1);
}

/** Waits until every machine runs the version, and watches what happens meanwhile. */
async function awaitVersion(version: string, seconds = 400): Promise<Set<string>> {
  const messages = new Set<string>();
  await eventually(
    `Kubernetes ${version} everywhere`,
    async () => {
      const all = await machines();
      expectSkew(all);
      const condition = await conditionOf('UpToDate');
      if (condition?.status === 'False') messages.add(condition.message);
      const { status, metadata } = await cluster();
      const isServed = metadata.labels?.[openmcpKeys.kubernetesVersion] === version;
      const isSeen = all.every(({ status: one }) => one?.applied?.kubernetesVersion === version);
      return isSeen && isServed && condition?.status === 'True' && status?.phase === 'Ready';
    },
    seconds,
  );
  return messages;
}

let poller: ApiServerPoller | undefined;

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', {
    ...{ controlPlanes: 3, workers: 2 },
    change: (spec) => Object.assign(spec, { kubernetes: { versions } }),
  });
  await objects.cluster(ref, { kubernetes: { version: '1.33' } });
  await eventually('it is up to date', async () => (await conditionOf('UpToDate'))?.status === 'True', 200);
  const bundle = await readSecretsBundle(testbed, ref);
  const about = { clusterName: ref.name, lifetimeSeconds: 3600, now: new Date() };
  const servers = (await machines()).filter(({ spec }) => spec.role === 'controlplane');
  const clients = servers.map(async ({ status }) =>
    clientFromKubeconfig(await renderAdminKubeconfig(bundle, { ...about, server: `https://${status?.address}:6443` })),
  );
  poller = new ApiServerPoller(await Promise.all(clients));
});
afterAll(async () => await poller?.stop());

describe('the Kubernetes version of a running cluster', () => {
  it('C23, D16, D17, D18: goes from 1.33 to 1.35 by way of 1.34 while clients ask all the time', async () => {
    await request('1.35');
    const messages = [...(await awaitVersion('1.35.4'))];
    expect(messages.some((message) => /\d of \d+ images are on the nodes/.test(message))).toBe(true);
    expect(messages.some((message) => /[12] of 3 API servers run 1\.34\.3/.test(message))).toBe(true);
    expect(poller?.failures).toEqual([]);
    expect(poller?.answered).toBeGreaterThan(100);
    const texts = await story();
    expect(texts.filter((text) => text.startsWith('Kubernetes was upgraded'))).toEqual([
      'Kubernetes was upgraded from 1.33.5 to 1.34.3.',
      'Kubernetes was upgraded from 1.34.3 to 1.35.4.',
    ]);
    expect(texts[0]).toBe(
      'Kubernetes 1.33.5 is upgraded to 1.34.3, on the way to 1.35.4: 0 of 3 API servers run 1.34.3.',
    );
    expect(texts).toHaveLength(14);
    expect((await cluster()).status?.providerStatus).toMatchObject({
      kubernetesVersion: '1.35.4',
      record: { kubernetesVersion: '1.35.4' },
    });
    await withAdminClient(open(), ref, async (admin) => {
      const proxy = await admin.get(DaemonSet, { namespace: 'kube-system', name: 'kube-proxy' });
      expect(JSON.stringify(proxy.spec)).toContain('kube-proxy:v1.35.4');
      const name = 'talos-bootstrap-manifests-inventory';
      const inventory = await admin.get(ConfigMap, { namespace: 'kube-system', name });
      expect(Object.keys(inventory.data ?? {})).toContain('kube-system_kube-proxy_apps_DaemonSet');
    });
  }, 450_000);

  it('cannot be lowered', async () => {
    await request('1.34.3');
    await eventually('it is refused', async () => {
      const condition = await conditionOf('Accepted');
      return condition?.reason === 'VersionChangeRejected' && condition.message.includes('Restore 1.35.4');
    });
    await request('1.35');
    await eventually('it is accepted again', async () => (await conditionOf('Accepted'))?.status === 'True');
  });

  it('D14, D15: is not upgraded over a removed feature gate or without an image, and nothing changes', async () => {
    const before = (await machines()).map(({ spec }) => [spec.kubernetesVersion, spec.components]);
    const gates = { 'feature-gates': 'WatchFromStorageWithoutResourceVersion=true' };
    open().world.machines.missingImages.add('kube-scheduler:v1.36.1');
    await change({
      controlPlane: { replicas: 3, size: 'small', patches: [{ cluster: { apiServer: { extraArgs: gates } } }] },
    });
    await eventually('the patch is applied', async () => (await machines()).every(isUpToDate), 120);
    await request('1.36.1');
    const blockedBy = (reason: string, text: string) =>
      eventually(`it is blocked: ${reason}`, async () => {
        const condition = await conditionOf('UpToDate');
        return condition?.reason === reason && condition.message.includes(text);
      });
    await blockedBy('UpgradeBlocked', 'does not have the feature gate WatchFromStorageWithoutResourceVersion');
    expect((await cluster()).status?.phase).toBe('Ready');
    await change({ controlPlane: { patches: [] } });
    await blockedBy('ImageNotPulled', 'registry.k8s.io/kube-scheduler:v1.36.1');
    expect((await conditionOf('UpToDate'))?.message).toMatch(/not found/);
    expect((await machines()).map(({ spec }) => [spec.kubernetesVersion, spec.components])).toEqual(before);
    open().world.machines.missingImages.clear();
    await request('1.35.4');
    await eventually('it is taken back', async () => (await conditionOf('UpToDate'))?.status === 'True', 120);
    expect((await machines()).map(({ spec }) => [spec.kubernetesVersion, spec.components])).toEqual(before);
  }, 300_000);

  it('D14: waits for an approval when clients use a removed API, and survives kills of the provider', async () => {
    open().world.machines.requestedApis.push({
      ...{ group: 'example.k8s.io', version: 'v1beta1', resource: 'widgets', removedRelease: '1.36' },
    });
    await request('1.36.1');
    await eventually(
      'it is blocked',
      async () => {
        const condition = await conditionOf('UpToDate');
        return (
          condition?.reason === 'DeprecatedApisInUse' && condition.message.includes('example.k8s.io/v1beta1 widgets')
        );
      },
      200,
    );
    const approve = { [annotations.approve]: 'DeprecatedApisInUse' };
    await open().platform.merge(Cluster, ref, { metadata: { annotations: approve } });
    for (const component of ['apiServer', 'scheduler'] as const) {
      await eventually(
        `the upgrade of ${component} has begun`,
        async () => (await machines()).some(({ status }) => status?.applied?.components?.[component] === '1.36.1'),
        200,
      );
      await restartKilled(open());
    }
    await awaitVersion('1.36.1');
    expect((await cluster()).metadata.annotations?.[annotations.approve]).toBeUndefined();
    expect(poller?.failures).toEqual([]);
  }, 450_000);
});
