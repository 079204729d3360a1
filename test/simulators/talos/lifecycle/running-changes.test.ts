import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { openKube } from '../testing/kube-access.ts';
import type { TestClient } from '../testing/talos-test-bed.ts';
import { awaitBootFromDisk, messageOfRejection, startTestCluster } from '../testing/test-cluster.ts';

/** A control plane that is installed and configured; with `ready` bootstrapped. */
async function start(name: string, { version = '1.13.9', ready = true } = {}) {
  const edit = (text: string) => text.replaceAll('v1.36.3', 'v1.35.4').replace(':v1.13.9', `:v${version}`);
  const cluster = await startTestCluster(name, { edit, image: { version } });
  const { world, machine, address } = cluster;
  await awaitBootFromDisk(cluster);
  const node = await cluster.client();
  if (ready) {
    await world.until('the bootstrap', () => world.during(node.machine.bootstrap({})));
    await world.until('a ready node', () => world.runner.node(machine.name)?.ready);
  }
  return { ...cluster, node, kube: await openKube(address) };
}

const apply = async ({ machine }: TestClient, text: string, mode: Mode, dryRun = false) => {
  const { messages } = await machine.applyConfiguration({ data: Buffer.from(text), mode, dryRun });
  return messages[0];
};

async function read({ state }: TestClient, namespace: string, type: string, id: string) {
  const { resource } = await state.get({ namespace, type: `${type}.talos.dev`, id });
  return { version: resource?.metadata?.version, text: resource?.spec?.yamlSpec ?? '' };
}
const config = async (node: TestClient, id: 'v1alpha1' | 'persistent'): Promise<string> =>
  parse((await read(node, 'config', 'MachineConfigs.config', id)).text);

const withToken = (text: string) => text.replace('abcdef.0123456789abcdef', 'ghijkl.0123456789abcdef');
const withLabel = (text: string) => text.replace('certSANs: []', 'certSANs: [added.example]');

describe('the answer of a dry run', () => {
  it('of Talos 1.13 says whether AUTO reboots, and changes nothing', async () => {
    const { node, config: text } = await start('dry-run', { ready: false });
    const summary = (how: string) =>
      `Dry run summary:\nApplied configuration ${how} (skipped in dry-run).\nConfig diff:`;
    const reboot = await apply(node, withToken(text), Mode.AUTO, true);
    expect(reboot).toMatchObject({ mode: Mode.REBOOT, warnings: [] });
    expect(reboot?.modeDetails).toContain(summary('with a reboot'));
    expect(reboot?.modeDetails).toContain('ghijkl.0123456789abcdef');
    const live = await apply(node, withLabel(text), Mode.AUTO, true);
    expect([live?.mode, live?.modeDetails]).toEqual([
      Mode.NO_REBOOT,
      expect.stringContaining(summary('without a reboot')),
    ]);
    expect((await apply(node, text, Mode.AUTO, true))?.modeDetails).toMatch(/No changes\.$/);
    const refused = messageOfRejection(apply(node, withToken(text), Mode.NO_REBOOT, true));
    expect(await refused).toContain("InvalidArgument: this config change can't be applied in immediate mode");
    expect(await config(node, 'persistent')).toBe(text);
  });

  it('of Talos 1.14 says nothing about reboots, and REBOOT is refused', async () => {
    const { node, config: text } = await start('dry-run-new', { ready: false, version: '1.14.0' });
    expect((await apply(node, withToken(text), Mode.AUTO, true))?.mode).toBe(Mode.NO_REBOOT);
    expect(await messageOfRejection(apply(node, text, Mode.REBOOT))).toBe(
      'Unimplemented: the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead',
    );
    expect((await apply(node, withToken(text), Mode.AUTO))?.modeDetails).toBe('Applied configuration without a reboot');
    expect(await config(node, 'v1alpha1')).toBe(withToken(text));
  });
});

it('stages a configuration for the next boot, which a second one before it replaces', async () => {
  const { node, world, config: text } = await start('staged', { ready: false });
  await apply(node, withToken(text), Mode.STAGED);
  expect([await config(node, 'v1alpha1'), await config(node, 'persistent')]).toEqual([text, withToken(text)]);
  await apply(node, withLabel(text), Mode.STAGED);
  await node.machine.reboot({});
  await world.until('the staged configuration', async () => (await config(node, 'v1alpha1')) === withLabel(text));
});

interface PodObject {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

const isReady = ({ status }: PodObject) =>
  status.conditions.some((one) => one.type === 'Ready' && one.status === 'True');

describe('a change of an image of Kubernetes', () => {
  it('makes the kubelet anew, with its version on the Node; a missing image keeps it in Preparing', async () => {
    const { node, world, kube, config: text } = await start('kubelet');
    const seen = async () => {
      const object = (await kube('GET', '/api/v1/nodes/kubelet')) as PodObject & {
        status: { nodeInfo: { kubeletVersion: string } };
      };
      const ready = object.status.conditions.find(({ type }) => type === 'Ready')?.status;
      return `${object.status.nodeInfo.kubeletVersion} ${ready}`;
    };
    const service = async () => {
      const { services = [] } = (await node.machine.serviceList({})).messages[0] ?? {};
      return services.find(({ id }) => id === 'kubelet');
    };
    expect(await seen()).toBe('v1.35.4 True');
    const changed = text.replace('kubelet:v1.35.4', 'kubelet:v1.36.3');
    await apply(node, changed, Mode.NO_REBOOT);
    await world.until('the new kubelet', async () => (await seen()) === 'v1.36.3 True');
    const events = (await service())?.events?.events.map(({ state }) => state) ?? [];
    expect(events.slice(-3)).toEqual(['Finished', 'Preparing', 'Running']);
    expect((await read(node, 'k8s', 'KubeletSpecs.kubernetes', 'kubelet')).text).toContain('kubelet:v1.36.3');

    world.runner.missingImages.add('kubelet:v1.36.4');
    await apply(node, text.replace('kubelet:v1.35.4', 'kubelet:v1.36.4'), Mode.NO_REBOOT);
    await world.until('the wait for the image', async () => (await service())?.state === 'Preparing');
    expect(await seen()).toBe('v1.36.3 True');
    await world.until('the silence', async () => (await seen()) === 'v1.36.3 Unknown');
    expect((await service())?.state).toBe('Preparing');
    world.runner.missingImages.clear();
    await world.until('the new kubelet', async () => (await seen()) === 'v1.36.4 True');
  });

  it('replaces a static pod, which says the version of its configuration, and only that one', async () => {
    const { node, world, kube, config: text } = await start('static');
    const pod = async (name: string) =>
      (await kube('GET', `/api/v1/namespaces/kube-system/pods/${name}-static`)) as PodObject | undefined;
    const before = await pod('kube-apiserver');
    await apply(node, text.replace('scheduler:v1.35.4', 'scheduler:v1.36.3'), Mode.NO_REBOOT);
    const current = await world.until('the new version of the configuration', async () => {
      const { version } = await read(node, 'controlplane', 'SchedulerConfigs.kubernetes', 'kube-scheduler');
      return version === '2' && version;
    });
    const scheduler = await world.until('the new pod', async () => {
      const found = await pod('kube-scheduler');
      return found?.metadata.annotations['talos.dev/config-version'] === current && isReady(found) && found;
    });
    expect(scheduler.spec.containers[0]?.image).toBe('registry.k8s.io/kube-scheduler:v1.36.3');
    expect(await pod('kube-apiserver')).toEqual(before);
    await apply(node, text.replace('apiserver:v1.35.4', 'apiserver:v1.36.3'), Mode.NO_REBOOT);
    await world.until('the new API server', async () => {
      const version = (await kube('GET', '/version')) as { gitVersion: string } | undefined;
      return version?.gitVersion === 'v1.36.3';
    });
  });

  it('restarts nothing else, in whatever order and form the rest is written', async () => {
    const { node, world, kube, config: text } = await start('same');
    const [main = '', ...others] = text.split('---\n');
    const { machine, cluster, ...rest } = parse(main);
    const auditPolicy = {
      kind: 'Policy',
      apiVersion: 'audit.k8s.io/v1',
      rules: [{ level: 'Metadata', verbs: ['get'] }],
    };
    const extraConfig = { serializeImagePulls: false, maxPods: 50 };
    const fields = {
      ...rest,
      machine: { ...machine, kubelet: { ...machine.kubelet, extraConfig } },
      cluster: { ...cluster, apiServer: { ...cluster.apiServer, auditPolicy } },
    };
    const running = async () => {
      const { services = [] } = (await node.machine.serviceList({})).messages[0] ?? {};
      const kubelet = services.find(({ id }) => id === 'kubelet')?.events?.events.length;
      return { kubelet, apiServer: await kube('GET', '/api/v1/namespaces/kube-system/pods/kube-apiserver-same') };
    };
    const schedulerRuns = (version: string) =>
      world.until(`the scheduler ${version}`, async () => {
        const found = (await kube('GET', '/api/v1/namespaces/kube-system/pods/kube-scheduler-same')) as
          | PodObject
          | undefined;
        return found && isReady(found) && found.spec.containers[0]?.image.endsWith(version);
      });
    const applied = [stringify(fields), ...others].join('---\n');
    await apply(node, applied.replace('scheduler:v1.35.4', 'scheduler:v1.35.5'), Mode.NO_REBOOT);
    await schedulerRuns('v1.35.5');
    await world.until('a ready node', () => world.runner.node('same')?.ready);
    const before = await running();
    const sorted = [stringify(fields, { sortMapEntries: true, defaultStringType: 'QUOTE_DOUBLE' }), ...others];
    await apply(node, sorted.join('---\n').replace('scheduler:v1.35.4', 'scheduler:v1.36.3'), Mode.NO_REBOOT);
    await schedulerRuns('v1.36.3');
    expect(await running()).toEqual(before);
  });

  it('of kube-proxy changes its manifest, and not what exists in the cluster', async () => {
    const { node, world, kube, config: text } = await start('manifests');
    const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy';
    const image = async () =>
      ((await kube('GET', path)) as { spec: { template: PodObject } }).spec.template.spec.containers[0]?.image;
    const manifest = async () => {
      const { text: yaml } = await read(node, 'controlplane', 'Manifests.kubernetes', '10-kube-proxy');
      const items = parse(yaml) as { kind: string; spec: { template: PodObject } }[];
      return items.find(({ kind }) => kind === 'DaemonSet');
    };
    expect(await image()).toBe('registry.k8s.io/kube-proxy:v1.35.4');
    await apply(node, text.replace('proxy:v1.35.4', 'proxy:v1.36.3'), Mode.NO_REBOOT);
    const changed = await world.until('the new manifest', async () => {
      const found = await manifest();
      return found?.spec.template.spec.containers[0]?.image.endsWith('v1.36.3') && found;
    });
    expect(await image()).toBe('registry.k8s.io/kube-proxy:v1.35.4');
    await kube('PATCH', path, { spec: changed.spec });
    const rolledOut = await world.until('the rollout', async () => {
      const { metadata, status } = (await kube('GET', path)) as {
        metadata: { generation: number };
        status: { observedGeneration?: number };
      };
      return status.observedGeneration === metadata.generation && { generation: metadata.generation, status };
    });
    expect(rolledOut).toMatchObject({
      generation: 2,
      status: { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberReady: 1 },
    });
  });
});
