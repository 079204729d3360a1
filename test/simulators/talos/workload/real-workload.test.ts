import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { Secret, ServiceAccount } from '../../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { openTalosClient } from '../../../../src/talos/client/client.ts';
import { type MachineConfigInput, renderMachineConfig } from '../../../../src/talos/config/machine-config.ts';
import { createTalosCredentials } from '../../../../src/talos/secrets/client-credentials.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import { renderAdminKubeconfig } from '../../../talos/admin-kubeconfig.ts';
import { exampleConfigInput, exampleSecretsBundle } from '../../../talos/example-config.ts';
import type { MachineDescription, RunningMachine } from '../../../world/machine-runner/machine.ts';
import { missingForRealWorkload, realWorkload } from '../../../world/talos/workload/real-workload.ts';
import {
  nextMac,
  rewriteBootDisc,
  startTalosTestBed,
  type TalosTestBed,
  waitUntilDefined,
} from '../testing/talos-test-bed.ts';
import { schematic } from '../testing/test-config.ts';

interface Pod extends KubeObject {
  spec: Record<string, unknown>;
  status?: { phase?: string };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

/** Typical additions of platform teams to the documents of Talos 1.14. */
const documents: readonly Readonly<Record<string, unknown>>[] = [
  { kind: 'KubeAPIServerConfig', certExtraSANs: ['api.example.org'] },
  {
    kind: 'KubeAuditPolicyConfig',
    configuration: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'None' }] },
  },
].map((document) => ({ apiVersion: 'v1alpha1', ...document }));

describeUnlessMissing('the real kube-apiserver on simulated nodes', missingForRealWorkload(), () => {
  let world: TalosTestBed;
  const nodes: Node[] = [];

  interface Node {
    readonly machine: MachineDescription;
    readonly address: string;
    running: RunningMachine;
    readonly kube: KubeClient;
  }

  /** Switches on a control plane with the product's configuration, and bootstraps it. */
  async function start(
    name: string,
    changes: Partial<MachineConfigInput> = {},
    patches: readonly Readonly<Record<string, unknown>>[] = [],
  ): Promise<Node> {
    const bundle = await exampleSecretsBundle();
    const address = world.address();
    const version = changes.talosVersion ?? '1.13.9';
    const endpoint = `https://${address}:6443`;
    const base = exampleConfigInput(bundle, {
      hostname: name,
      endpoint,
      kubernetesVersion: '1.36.3',
      discovery: { enabled: false },
      installerImage: `${world.factory.place}/nocloud-installer/${schematic}:v${version}`,
      patches: patches.map((document) => ({ from: 'the test', document })),
      ...changes,
    });
    const { vip: _vip, ...alone } = base;
    const links = [{ mac: nextMac(), addresses: [`${address}/16`] }];
    const config = renderMachineConfig({ ...alone, hardware: { ...base.hardware, links } }).reveal();
    const machine = world.machine(name, { 'user-data': config, 'meta-data': 'instance-id: one\n' });
    rewriteBootDisc(machine, { version });
    const running = world.start(machine);
    const talos = openTalosClient({ address, credentials: createTalosCredentials(bundle, systemClock) });
    try {
      await waitUntilDefined('the bootstrap', () => talos.bootstrap().then(() => true), 60);
    } finally {
      await talos.close();
    }
    const about = { clusterName: 'x', server: endpoint, lifetimeSeconds: 3600, now: new Date() };
    const connection = loadApiServerConnection({ text: await renderAdminKubeconfig(bundle, about) });
    const kube = new KubeClient(new Transport(connection, { userAgent: 'test' }), { fieldManager: 'test' });
    const node = { machine, address, running, kube };
    nodes.push(node);
    return node;
  }

  const console = (name: string): string => world.runner.node(name)?.console.join('\n') ?? '';
  /** By its own report and that of the API server. */
  const isReady = async (name: string): Promise<void> => {
    await waitUntilDefined(`${name} is ready`, () => world.runner.node(name)?.ready, 60);
    const kube = nodes.find(({ machine }) => machine.name === name)?.kube;
    await waitUntilDefined(`Node ${name} is Ready`, async () => {
      const { status } = (await kube?.get(KubeNode, { name })) ?? {};
      return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    });
  };

  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      for (const { name, console: lines } of world.runner.nodes())
        process.stderr.write(`--- ${name}\n${lines.slice(-20).join('\n')}\n`);
    });
  });
  beforeAll(async () => {
    world = await startTalosTestBed(0.004, { workload: (folder) => realWorkload({ folder }) });
  });
  afterAll(async () => {
    for (const { kube } of nodes) await kube.close();
    await world?.close();
  });

  describe("with the product's configuration", () => {
    let node: Node;
    beforeAll(async () => {
      if (missingForRealWorkload()) return;
      node = await start('one', { talosVersion: '1.13.9' });
      await isReady('one');
    }, 90_000);

    it('shows the node and its static pods, as kubelet and Talos write them', async () => {
      const { status, metadata, spec } = await node.kube.get(KubeNode, { name: 'one' });
      expect(status?.nodeInfo?.kubeletVersion).toBe('v1.36.3');
      expect(metadata.labels).toHaveProperty(['node-role.kubernetes.io/control-plane'], '');
      expect(spec?.taints?.map(({ key }) => key)).toEqual(['node-role.kubernetes.io/control-plane']);
      const pods = await waitUntilDefined('the pods', async () => {
        const { items } = await node.kube.list(Pod, { namespace: 'kube-system' });
        return items.length === 3 && items.every((pod) => pod.status?.phase === 'Running') && items;
      });
      expect(pods.map((pod) => pod.metadata.name).sort()).toEqual([
        'kube-apiserver-one',
        'kube-controller-manager-one',
        'kube-scheduler-one',
      ]);
    });

    it('refuses anonymous requests', async () => {
      expect(await statusFrom(`https://${node.address}:6443/version`)).toBe(401);
    });

    it('encrypts Secrets in etcd with the key of our secrets', async () => {
      const metadata = { namespace: 'default', name: 'hidden' };
      const data = { word: Buffer.from('a word that nobody may find').toString('base64') };
      await node.kube.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data });
      const stored = await readEtcd(world, 'one', '/registry/secrets/default/hidden');
      expect(stored).toMatch(/^k8s:enc:secretbox:v1:key2:/);
      expect(stored).not.toContain('a word');
    });

    it('enforces the baseline pod security standard outside of kube-system, and writes an audit log', async () => {
      const pod = (namespace: string) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace, name: 'wide', annotations: { 'kubernetes.io/config.mirror': 'x' } },
        spec: { nodeName: 'one', hostNetwork: true, containers: [{ name: 'x', image: 'x' }] },
      });
      await expect(node.kube.create(Pod, pod('default'))).rejects.toThrow(
        /violates PodSecurity "baseline:latest": host namespaces \(hostNetwork=true\)/,
      );
      await node.kube.create(Pod, pod('kube-system'));
      const log = readFileSync(join(folderOf(world, 'one'), 'kube-apiserver.log'), 'utf8');
      expect(log).toMatch(/"level":"Metadata".*"requestURI":"\/api\/v1\/namespaces\/default\/pods/);
    });

    it('has Pods of its node started, and ended after an eviction, by the simulated kubelet', async () => {
      const key = { namespace: 'default', name: 'web' };
      await node.kube.create(ServiceAccount, {
        ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'default' } },
        automountServiceAccountToken: false,
      });
      const made = await node.kube.create(Pod, {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: key },
        spec: { nodeName: 'one', containers: [{ name: 'x', image: 'example.org/x' }] },
      });
      await waitUntilDefined('it runs', async () => (await node.kube.get(Pod, key)).status?.phase === 'Running');
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
      await node.kube.raw('POST', '/api/v1/namespaces/default/pods/web/eviction', eviction);
      await waitUntilDefined('it has ended', async () => (await node.kube.find(Pod, key)) === undefined);
      expect(made.status?.phase).toBe('Pending');
    });

    it('and the simulated node see external changes of the Node', async () => {
      await node.kube.merge(
        KubeNode,
        { name: 'one' },
        { spec: { unschedulable: true }, metadata: { labels: { a: 'b' } } },
      );
      await node.kube.remove(KubeNode, { name: 'one' });
      await waitUntilDefined('the node has lost its Node', () => world.runner.node('one')?.ready === false);
      // An earlier write may still be on its way to the server, and with it the Node for a short time.
      const isGone = async () => (await node.kube.find(KubeNode, { name: 'one' })) === undefined;
      await waitUntilDefined('the Node is gone', isGone);
    });

    it('keeps its data when the machine is switched off and on', async () => {
      node.running.kill();
      await node.running.exited;
      node.running = world.start(node.machine);
      const found = await waitUntilDefined(
        'the API server',
        () => node.kube.find(Secret, { namespace: 'default', name: 'hidden' }),
        60,
      );
      expect(found).toHaveProperty('data');
      await isReady('one');
    }, 90_000);
  });

  it.each([
    { what: 'Talos 1.12', changes: { talosVersion: '1.12.4', kubernetesVersion: '1.35.4' } },
    { what: 'Talos 1.14, by documents', changes: { talosVersion: '1.14.0' } },
    { what: 'patched documents of Talos 1.14', changes: { talosVersion: '1.14.0' }, patches: documents },
  ])(
    'starts with the configuration of $what',
    async ({ what, changes, patches }) => {
      const name = `v-${what.length}`;
      const node = await start(name, changes, patches);
      await isReady(name);
      node.running.kill();
    },
    90_000,
  );

  it.each([
    {
      what: 'an argument that it does not know',
      patch: { cluster: { apiServer: { extraArgs: { 'no-such-flag': 'x' } } } },
      says: /kube-apiserver: the program has ended: .*unknown flag: --no-such-flag/,
    },
    {
      what: 'an argument that Talos does not allow',
      patch: { cluster: { apiServer: { extraArgs: { 'etcd-servers': 'https://example.org' } } } },
      says: /kube-apiserver: extra arg "etcd-servers" is not allowed/,
    },
    {
      what: 'a plug-in that makes no sense of its configuration',
      patch: {
        cluster: {
          apiServer: { admissionControl: [{ name: 'PodSecurity', configuration: { defaults: { enforce: 'x' } } }] },
        },
      },
      says: /kube-apiserver: the program has ended: .*PodSecurity/,
    },
  ])(
    'does not start with $what, and the node reports why',
    async ({ patch, says, what }) => {
      const name = `bad-${what.length}`;
      const node = await start(name, {}, [patch]);
      await waitUntilDefined('the node says it', () => says.test(console(name)), 60);
      expect(world.runner.node(name)?.ready).toBe(false);
      await expect(node.kube.get(KubeNode, { name })).rejects.toThrow(/ECONNREFUSED/);
      node.running.kill();
    },
    90_000,
  );
});

/** The folder of an API server's files on a node. */
function folderOf(world: TalosTestBed, name: string): string {
  const clusters = join(world.folder, 'workload');
  const found = readdirSync(clusters).find((cluster) => existsSync(join(clusters, cluster, name)));
  if (found === undefined) throw new Error(`${name} has no kube-apiserver`);
  return join(clusters, found, name);
}

/** The stored bytes of a key in etcd. */
async function readEtcd(world: TalosTestBed, name: string, key: string): Promise<string> {
  const flags = readFileSync(join(folderOf(world, name), 'flags'), 'utf8');
  const url = /^--etcd-servers=(.*)$/m.exec(flags)?.[1];
  const body = JSON.stringify({ key: Buffer.from(key).toString('base64') });
  const answer = await request(`${url}/v3/kv/range`, { method: 'POST', body });
  const { kvs } = (await answer.body.json()) as { kvs: { value: string }[] };
  return Buffer.from(kvs[0]?.value ?? '', 'base64').toString('latin1');
}

/** A server's answer to a client without a certificate that verifies no server. */
async function statusFrom(url: string): Promise<number> {
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { statusCode, body } = await request(url, { dispatcher: agent });
    await body.dump();
    return statusCode;
  } finally {
    await agent.close();
  }
}
