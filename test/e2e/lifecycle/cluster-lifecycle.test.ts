import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { clusterSecretsName, labels, openmcpKeys } from '../../../src/api/names.ts';
import { Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Namespace, Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { callNas } from '../support/access/nas.ts';
import { withAdminClient, withTalosAdminClient } from '../support/access/workload-cluster.ts';
import {
  addressHolders,
  bootstrappedNodes,
  listLeftovers,
  listNasLeftovers,
  providerWrites,
} from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.100' });
const first = { namespace: 'team-a', name: 'first' };
const second = { namespace: 'team-b', name: 'second' };
const proof = /^GET \/api\/v1\/namespaces\/kube-system$/;
const rejections = 4;

const addressesOf = async (ref: { namespace: string; name: string }): Promise<string[]> =>
  (await open().objects.machines(ref)).flatMap(({ status }) => status?.address ?? []);

prepareTestbed(open, async ({ objects, world }) => {
  // The new API server rejects the provider a few times although everything else is ready.
  world.switchboard.fail('workload', proof, { kind: 'error', status: 401 }, rejections);
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 1 });
  await objects.cluster(
    first,
    { purposes: ['test'] },
    {
      labels: { [`${openmcpKeys.metadataPrefix}project`]: 'apollo', other: 'thing' },
      annotations: { [`${openmcpKeys.metadataPrefix}contact`]: 'a person' },
    },
  );
  await objects.cluster(second, { kubernetes: { version: '1.34.7' } });
  const ready = async (ref: typeof first) => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('both clusters are ready', async () => (await ready(first)) && (await ready(second)), 100);
});

describe('a ProviderConfig', () => {
  it('C8, C9, C10: publishes one ClusterProfile by the predictable name, with its versions newest first', async () => {
    const { objects, platform } = open();
    const profile = await platform.get(ClusterProfile, { name: 'test.talos.home' });
    expect(profile.spec).toEqual({
      providerRef: { name: 'talos' },
      providerConfigRef: { name: 'home' },
      supportedVersions: [{ version: '1.35.4' }, { version: '1.34.7', deprecated: true }],
    });
    const { status, metadata } = await objects.getConfig('home');
    expect(status).toMatchObject({
      phase: 'Ready',
      profile: 'test.talos.home',
      observedGeneration: metadata.generation,
      clusters: 2,
    });
  });
});

describe('a Cluster with three control planes and a worker', () => {
  it('is not Ready before the API server has answered an authenticated request', () => {
    const { recorder, calls } = open();
    const proofs = calls.filter(({ simulator, name }) => simulator === 'workload' && proof.test(name));
    expect(proofs.length).toBeGreaterThan(rejections);
    const becameReady = recorder.of(Cluster).find(({ object }) => object.status?.phase === 'Ready');
    expect(becameReady?.at.getTime()).toBeGreaterThanOrEqual(proofs[rejections]?.at.getTime() ?? Number.NaN);
    const messages = recorder
      .of(Cluster)
      .flatMap(({ object }) => object.status?.conditions ?? [])
      .filter(({ type, status }) => type === 'EndpointReachable' && status === 'False')
      .map(({ message }) => message);
    expect(
      messages.some((message) => /^https:\/\/127\.42\.100\.\d+:6443 does not answer yet: .*401/.test(message)),
    ).toBe(true);
  });

  it('C33, C34, C36: reports conditions of one polarity, all True and all current when it is ready', async () => {
    const { status, metadata } = await eventually('its nodes were compared with the spec', async () => {
      const cluster = await open().objects.getCluster(first);
      const { conditions } = cluster.status ?? {};
      return isConditionTrue(conditions, 'UpToDate') && isConditionTrue(conditions, 'NodesHealthy') && cluster;
    });
    const conditions = status?.conditions ?? [];
    expect(conditions.map(({ type, status: is, observedGeneration }) => [type, is, observedGeneration])).toEqual(
      [
        'Accepted',
        'Bootstrapped',
        'EndpointReachable',
        'MachinesReady',
        'NodesHealthy',
        'Ready',
        'SecretsReady',
        'UpToDate',
      ].map((type) => [type, 'True', metadata.generation]),
    );
    expect(status?.observedGeneration).toBe(metadata.generation);
    for (const { reason } of conditions) expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  });

  it('C32: goes from no phase through Progressing to Ready and never back, and always reports what it waits for', () => {
    const { recorder } = open();
    expect(recorder.values(Cluster, first, ({ status }) => status?.phase)).toEqual([undefined, 'Progressing', 'Ready']);
    for (const { object } of recorder.of(Cluster)) {
      const waiting = object.status?.conditions?.filter(({ status }) => status !== 'True') ?? [];
      if (object.status?.phase === 'Progressing') expect(waiting).not.toEqual([]);
      for (const { message } of waiting) expect(message).toMatch(/^.{10,}/);
    }
  });

  it('C27, C28, C29, C30, C31: publishes both endpoints, the running version, its provider and its sources', async () => {
    const { status, metadata } = await open().objects.getCluster(first);
    const url = status?.apiServer ?? '';
    expect(url).toMatch(/^https:\/\/127\.42\.100\.\d+:6443$/);
    expect(status?.endpoints).toEqual([
      { name: 'apiserver-external', url },
      { name: 'apiserver-internal', url },
    ]);
    expect(metadata.labels).toMatchObject({
      [openmcpKeys.kubernetesVersion]: '1.35.4',
      [openmcpKeys.provider]: 'talos',
    });
    expect(metadata.annotations?.[openmcpKeys.providerInfo]).toBe('Talos 1.13.9 on truenas, 4 machines');
    const machines = await open().objects.machines(first);
    expect(status?.providerStatus).toEqual({
      platform: 'truenas',
      providerConfig: 'home',
      talosVersion: '1.13.9',
      kubernetesVersion: '1.35.4',
      controlPlanes: 3,
      workers: 1,
      machines: machines.map((machine) => machine.metadata.name),
      record: {
        talosCa: expect.stringMatching(/^[0-9a-f]{64}$/),
        kubernetesCa: expect.stringMatching(/^[0-9a-f]{64}$/),
        kubernetesVersion: '1.35.4',
        bootstrapMachine: expect.stringMatching(/^first-[a-z2-7]{8}-cp-[012]$/),
        bootstrapRequest: expect.stringMatching(/^[0-9a-f-]{36} [0-9.]+$/),
        bootstrappedAt: expect.stringMatching(/^20.*Z$/),
      },
      rollout: { revision: expect.stringMatching(/^[0-9a-f]{16}$/), state: 'Current' },
    });
  });

  it('is a real cluster: four ready nodes with their roles, three members of one etcd', async () => {
    const testbed = open();
    const { items } = await withAdminClient(testbed, first, (admin) => admin.list(KubeNode));
    const machines = await testbed.objects.machines(first);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(
      machines.map(({ metadata }) => metadata.name).sort(),
    );
    for (const { status, metadata } of items) {
      expect(status?.nodeInfo?.kubeletVersion).toBe('v1.35.4');
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
      expect(metadata.labels?.[labels.pool]).toMatch(/^(cp|work)$/);
    }
    const [address = ''] = await addressesOf(first);
    const members = await withTalosAdminClient(testbed, first, address, (node) => node.etcdMembers());
    const controlPlanes = machines.filter(({ spec }) => spec.role === 'controlplane');
    expect(members.map(({ name }) => name).sort()).toEqual(controlPlanes.map(({ metadata }) => metadata.name).sort());
  });

  it('is bootstrapped on one machine only', () => {
    const told = (name: string): Set<string> =>
      new Set(bootstrappedNodes(open().calls).filter((node) => node.includes(`${name}_`)));
    expect([told('first').size, told('second').size]).toEqual([1, 1]);
  });

  it('has its secrets before their first use, and they never change', () => {
    const { recorder, namespace, calls } = open();
    const key = { namespace, name: clusterSecretsName(first) };
    const versions = recorder.of(Secret, key);
    expect(new Set(versions.map(({ object }) => JSON.stringify(object.data))).size).toBe(1);
    const writes = providerWrites(calls);
    const made = writes.flatMap((name, i) => (name === `POST /api/v1/namespaces/${namespace}/secrets` ? i : []));
    expect(made).toHaveLength(2);
    expect(made[0]).toBeLessThan(writes.findIndex((name) => name.endsWith('/machines')));
  });

  it('C37: reports its progress in events', async () => {
    const { recorder, objects } = open();
    const machines = await objects.machines(first);
    const messages = recorder.events({ kind: 'Cluster', name: 'first' });
    for (const { metadata } of machines)
      expect(messages).toContain(`MachineCreated: Machine ${metadata.name} was created.`);
    expect(messages.filter((words) => words.startsWith('Bootstrapped: etcd was bootstrapped on first-'))).toHaveLength(
      1,
    );
    expect(
      messages.filter((words) => words.startsWith('Ready: The cluster is reachable at https://127.42.100.')),
    ).toHaveLength(1);
    for (const { metadata } of machines)
      expect(recorder.events({ kind: 'Machine', name: metadata.name })).toEqual([
        'Joined: The node is a healthy member of its cluster.',
      ]);
    expect(recorder.events({ kind: 'ProviderConfig', name: 'home' })).toEqual([
      'ProfilePublished: ClusterProfile test.talos.home is current.',
    ]);
  });

  it('C30: has an API server in its status as soon as the address is known, and endpoints after its first answer', () => {
    const seen = open()
      .recorder.of(Cluster, first)
      .map(({ object: { status } }) => [status?.apiServer !== undefined, status?.endpoints !== undefined] as const);
    const [known, answered] = [0, 1].map((which) => seen.findIndex((both) => both[which]));
    expect(known).toBeGreaterThanOrEqual(0);
    expect(known).toBeLessThan(answered ?? 0);
  });

  it('C39: propagates labels and annotations of the contract to its machines, and no others', async () => {
    for (const { metadata } of await open().objects.machines(first)) {
      expect(metadata.labels).toMatchObject({ [`${openmcpKeys.metadataPrefix}project`]: 'apollo' });
      expect(metadata.labels).not.toHaveProperty('other');
      expect(metadata.annotations).toMatchObject({ [`${openmcpKeys.metadataPrefix}contact`]: 'a person' });
    }
  });

  it('C39: propagates their changes for its whole lifetime, also to its virtual machines, and keeps text of users there', async () => {
    const project = `${openmcpKeys.metadataPrefix}project`;
    const contact = `${openmcpKeys.metadataPrefix}contact`;
    const rows = async () => {
      const all = (await callNas(open(), 'vm.query', [[], {}])) as readonly { id: number; description: string }[];
      return all.filter(({ description }) => description.includes(` of ${first.namespace}/${first.name}.`));
    };
    const [one] = await rows();
    expect(one?.description).toContain(`${project}=apollo`);
    await callNas(open(), 'vm.update', [one?.id, { description: `${one?.description}\nNote.` }]);
    const wanted = { [project]: 'artemis' };
    const metadata = { labels: wanted, annotations: { [contact]: null } };
    await open().platform.merge(Cluster, first, { metadata });
    await eventually('the Machines have them', async () => {
      for (const machine of await open().objects.machines(first)) {
        expect(machine.metadata.labels).toMatchObject(wanted);
        expect(machine.metadata.annotations).not.toHaveProperty([contact]);
      }
      return true;
    });
    await eventually('the virtual machines tell them', async () => {
      const told = (await rows()).map(({ description }) => description);
      return told.every((text) => text.includes(`${project}=artemis`) && !text.includes('contact'));
    });
    const now = (await rows()).find(({ id }) => id === one?.id);
    expect(now?.description).toMatch(/=artemis\nNote\.$/);
  });

  it('has machines that report their host and their addresses', async () => {
    // The new descriptions of the last test are the end of a repair, which is reported after it.
    await eventually('no repair is under way', async () => {
      const machines = await open().objects.machines(first);
      return machines.every(({ status }) => status?.phase === 'Ready');
    });
    for (const { status, metadata } of await open().objects.machines(first)) {
      expect(status).toMatchObject({
        phase: 'Ready',
        observedGeneration: metadata.generation,
        message: 'Runs as it was made.',
      });
      expect(status?.conditions?.every((condition) => condition.status === 'True')).toBe(true);
    }
  });
});

describe('a second Cluster of the same ProviderConfig at the same time', () => {
  it('T39, S19: gets addresses of its own, each claimed by one holder', async () => {
    const testbed = open();
    const plan = await addressHolders(testbed);
    const all = [...(await addressesOf(first)), ...(await addressesOf(second))];
    expect(new Set(all).size).toBe(8);
    expect(plan.size).toBe(10);
    expect(new Set(plan.values()).size).toBe(10);
    for (const address of all) expect(plan.get(address)).toMatch(/^machine\//);
    const urls = await Promise.all(
      [first, second].map(async (ref) => (await testbed.objects.getCluster(ref)).status?.apiServer),
    );
    expect(new Set(urls).size).toBe(2);
  });

  it('C21: runs the requested Kubernetes version', async () => {
    const { metadata } = await open().objects.getCluster(second);
    expect(metadata.labels?.[openmcpKeys.kubernetesVersion]).toBe('1.34.7');
  });
});

describe('deletion', () => {
  it('removes one Cluster and leaves the other unchanged', async () => {
    const testbed = open();
    const { objects } = testbed;
    const kept = await objects.machines(second);
    const before = JSON.stringify([kept, await objects.getCluster(second)]);
    await objects.remove(Cluster, first);
    await eventually('the first cluster is gone', async () => !(await objects.exists(Cluster, first)));
    expect(await objects.machines()).toHaveLength(4);
    expect((await addressHolders(testbed)).size).toBe(5);
    expect(listNasLeftovers(testbed).filter((fingerprint) => fingerprint.includes('first'))).toEqual([]);
    expect(listNasLeftovers(testbed).filter((fingerprint) => fingerprint.startsWith('VM '))).toHaveLength(4);
    expect(JSON.stringify([await objects.machines(second), await objects.getCluster(second)])).toBe(before);
    const space = await withAdminClient(testbed, second, (admin) => admin.get(Namespace, { name: 'kube-system' }));
    expect(space.status?.phase).toBe('Active');
  });

  it('withdraws the published access meanwhile, and shows the phase Terminating', () => {
    const { recorder } = open();
    const terminating = recorder.of(Cluster, first).filter(({ object }) => object.status?.phase === 'Terminating');
    expect(terminating.length).toBeGreaterThan(0);
    for (const { object } of terminating) {
      expect(object.status).not.toHaveProperty('endpoints');
      expect(object.status).not.toHaveProperty('apiServer');
      expect(isConditionTrue(object.status?.conditions, 'Ready')).toBe(false);
    }
  });

  it('T48: removes a boot image that has been unused for a day', async () => {
    const testbed = open();
    const { objects, world, platform } = testbed;
    const home = { name: 'home' };
    const { datasets } = world.truenas.nas;
    const [image = ''] = [...datasets.keys()].filter((id) => /\/images\//.test(id));
    const properties = () => datasets.get(image)?.userProperties;
    await objects.remove(Cluster, second);
    await eventually('the second cluster is gone', async () => !(await objects.exists(Cluster, second)));
    // No object names the old version any more.
    await platform.merge(ProviderConfig, home, { spec: { talos: { version: '1.13.8' } } });
    const ask = () => objects.annotate(ProviderConfig, home, { [openmcpKeys.operation]: 'reconcile' });
    await ask();
    await eventually('it is noted', async () => properties()?.has('openmcp.talos:unused-since') ?? false);
    expect(properties()?.has('openmcp.talos:sha256')).toBe(true);
    const aDayAgo = new Date(Date.now() - 24 * 3600 * 1000);
    properties()?.set('openmcp.talos:unused-since', aDayAgo.toISOString());
    await ask();
    await eventually('it is gone', async () => !datasets.has(image));
    expect([...datasets.keys()]).toContain('tank/talos/images');
  });

  it('ends with nothing left but the folders of boot images', async () => {
    const testbed = open();
    await testbed.objects.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await listLeftovers(testbed)).toEqual([]);
      return true;
    });
  });

  it('the provider logs no fault of its own', () => {
    expect(open().faults()).toEqual([]);
  });

  it('and no secret appears in any log line, event, status or condition', () => {
    expect(findSecretLeaks(open())).toEqual([]);
  });
});
