import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { clusterId, group, labels, version } from '../../../src/api/names.ts';
import { ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import { RobotTestObjects, robotCredentialsName } from '../support/objects/robot-test-objects.ts';
import type { RawProviderConfigSpec } from '../support/objects/test-objects.ts';
import { providerCalls } from '../support/observation/provider-calls.ts';
import { Testbed } from '../support/testbed/testbed.ts';

const [first, second, files, foreign] = [3140011, 3140012, 3140014, 3140015] as const;
const shop = { namespace: 'shop', name: 'bare' };
let testbed: Testbed;
let robot: RobotTestObjects;
let kubeconfig: string;

// The provider does not run: every call comes from a command, or from the test itself.
beforeAll(async () => {
  testbed = await Testbed.open({
    subnet: '127.42.149',
    seeds: {
      robot: {
        network: '127.42.147',
        accounts: [
          {
            vswitches: [{ name: 'storage', vlan: 4007, servers: [files] }],
            failovers: [{ ip: '203.0.113.9', server: files }],
          },
        ],
        servers: [
          { number: first, name: 'rack-7' },
          { number: second, cancelled: true },
          { number: files, name: 'files: "a"' },
          { number: foreign, name: 'bm-worker-7' },
        ],
      },
    },
  });
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  await robot.config('metal', { workers: 2 });
  kubeconfig = await testbed.kubeconfigWith('config/rbac/looking.yaml');
}, 60_000);
afterAll(async () => await testbed?.close());

/** Runs a command with the rights of config/rbac/looking.yaml, as users do. Returns the calls it made as well. */
async function start(...words: string[]) {
  const before = testbed.calls.length;
  const end = await runProgram(...words, '--kubeconfig', kubeconfig);
  const calls = testbed.calls.slice(before);
  const asked = calls.filter(({ simulator }) => simulator === 'robot').map(({ name }) => name);
  const own = providerCalls(calls).map(({ name }) => name);
  expect(own).not.toEqual([]);
  return { ...end, asked, writes: own.filter((name) => !name.startsWith('GET ')) };
}

const documents = (text: string): Host[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as Host | null) ?? []);

const listed = async () => {
  const { url, ca } = testbed.world.robot.line;
  return await start('hosts', '--account', robotCredentialsName, '--url', url, '--ca-file', ca ?? '');
};

it('servers are listed as Hosts that can be applied unchanged', async () => {
  const { code, out, err, asked, writes } = await listed();
  expect({ code, err, asked, writes }).toEqual({ code: 0, err: '', asked: ['GET /server'], writes: [] });
  expect(out).toMatch(/# The server was cancelled at Hetzner.*\napiVersion/);
  expect(out).toMatch(/# The server has the name bm-worker-7 in Robot/);
  const hosts = documents(out);
  expect(hosts.map(({ spec }) => [spec.serverID, spec.maintenance])).toEqual(
    [first, second, files, foreign].map((number) => [`${number}`, true]),
  );
  const { url, ca } = testbed.world.robot.line;
  const words = ['hosts', '--account', robotCredentialsName, '--url', url, '--ca-file', ca ?? '', '-o', 'json'];
  expect(readOutput('hosts', (await start(...words)).out).items).toEqual(hosts);
  for (const host of hosts) await testbed.platform.create(Host, host);
  const again = await listed();
  expect(again).toMatchObject({ code: 0, out: '# Omitted: 4 servers that have a Host.\n', writes: [] });
});

it('servers that cannot be listed are reported with a reason', async () => {
  expect(await start('hosts', '--account', 'nobody')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/There is no Secret nobody in namespace openmcp-system/),
    asked: [],
  });
});

it('a rejected login is reported with the consequences of a retry', async () => {
  await testbed.objects.credentials('mistyped', { ...robot.goodCredentials(), password: 'wrong' });
  const { url, ca } = testbed.world.robot.line;
  const { code, out, err, asked } = await start(
    ...['hosts', '--account', 'mistyped', '--url', url, '--ca-file', ca ?? ''],
  );
  expect({ code, out, asked }).toEqual({ code: 1, out: '', asked: ['GET /server'] });
  expect(err).toMatch(/Every command that you start logs in again: three failed logins within ten minutes block/);
});

it('a plan names what each Machine waits for while no server is available', async () => {
  const { code, out, asked, writes } = await start(
    ...['plan', '--cluster', `${shop.namespace}/${shop.name}`, '--provider-config', 'metal'],
  );
  expect({ code, writes }).toEqual({ code: 1, writes: [] });
  expect(new Set(asked)).toEqual(new Set(['GET /server']));
  expect(out).toContain('No Host is available for size small: 4 in maintenance.');
});

it('a plan can be read by programs', async () => {
  const words = ['plan', '--cluster', `${shop.namespace}/${shop.name}`, '--provider-config', 'metal', '-o', 'json'];
  const { machines, unassignedHosts } = readOutput('plan', (await start(...words)).out);
  expect(machines.map(({ role, exists }) => [role, exists])).toContainEqual(['controlplane', false]);
  expect(machines[0]?.error).toContain('No Host is available');
  expect(unassignedHosts.flatMap(({ names }) => names)).toHaveLength(4);
});

it('a plan lists the disks to erase on each server, and the reasons against other servers', async () => {
  await lend(first, [disk('A1', 512), disk('B2', 960, ['ext4 on sdb1'])]);
  await lend(files, [disk('F1', 960, ['ext4 on sda1, named "photos"'])]);
  await lend(foreign);
  const { code, out, asked, writes } = await start(
    ...['plan', '--cluster', `${shop.namespace}/${shop.name}`, '--provider-config', 'metal'],
  );
  expect({ code, asked, writes }).toEqual({ code: 1, asked: ['GET /server'], writes: [] });
  expect(out).toMatch(/-cp-0 \(controlplane, size small\) would claim Host server-3140011 \(server 3140011\)/);
  expect(out).toMatch(/erases +EXAMPLE A1 .*Talos is installed to it\n +keeps +EXAMPLE B2 .*ext4 on sdb1/);
  expect(out).toMatch(/blocked +Server 3140015 has the name bm-worker-7 in Robot/);
  expect(out).toMatch(/-work-1 .* would wait\n +blocked +No Host is available for size small: /);
  expect(out).toMatch(
    /1 without a disk that may be used: server-3140014\n +blocked +Server 3140014: .*photos.*spec\.wipe/,
  );
  expect(out).toContain('3 machines, 1 disk to be erased. Nothing was changed.');
});

it('a plan describes the changes of the vSwitch and of the failover address', async () => {
  const network = { addressPool: ['10.9.0.20-10.9.0.60'], prefix: 24 };
  const checked = async (name: string, section: object) => {
    const change = (spec: RawProviderConfigSpec) => {
      Object.assign(spec.network, network);
      Object.assign((spec as unknown as { hetznerRobot: object }).hetznerRobot, section);
    };
    await robot.config(name, { change });
    return await start('plan', '--cluster', `${shop.namespace}/${shop.name}`, '--provider-config', name);
  };
  const good = await checked('private', {
    vswitch: { name: 'nodes', vlan: 4008 },
    failoverAddress: '203.0.113.9',
  });
  expect(good).toMatchObject({ asked: ['GET /server', 'GET /vswitch', 'GET /failover/{ip}'], writes: [] });
  expect(good.out).toMatch(
    /^Shared by the machines:\n +creates +vSwitch nodes with VLAN 4008\n +joins .*: server 3140011\n/m,
  );
  expect(good.out).toMatch(
    /^ +routes +failover address 203\.0\.113\.9 to the first healthy control plane of server 3140011 \(now routed to server 3140014\)$/m,
  );
  const bad = await checked('taken', { vswitch: { name: 'nodes', vlan: 4007 } });
  expect(bad).toMatchObject({ code: 1, asked: ['GET /server', 'GET /vswitch'], writes: [] });
  expect(bad.out).toMatch(/^ +blocked +The vSwitch with VLAN 4007 has the name storage and not nodes\./m);
});

it('a plan of a cluster that exists lists what its machines hold', async () => {
  const lookAt = () => start('plan', '--cluster', `${shop.namespace}/${shop.name}`);
  expect((await lookAt()).err).toMatch(/There is no Cluster bare in namespace shop\. .*--provider-config/);
  await testbed.objects.cluster(shop, { config: 'metal' });
  expect((await lookAt()).err).toMatch(/spec\.profile: there is no ClusterProfile test\.talos\.metal/);
  await testbed.platform.create(ClusterProfile, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'ClusterProfile',
    metadata: { name: testbed.objects.profileOf('metal') },
    spec: { providerRef: { name: 'talos' }, providerConfigRef: { name: 'metal' }, supportedVersions: [] },
  });
  await claim(first);
  const { out, asked, writes } = await lookAt();
  expect({ asked, writes }).toEqual({ asked: ['GET /server'], writes: [] });
  expect(out).toMatch(/^shop-machine \(controlplane, size small\) holds Host server-3140011 /);
  expect(out).toMatch(/^ +erases +EXAMPLE A1 /m);
});

it('a plan of a ProviderConfig lists the changes of its running machines alone, and makes no calls', async () => {
  const metadata = { labels: { [labels.provider]: 'talos' } };
  await testbed.platform.merge(Machine, { name: 'shop-machine' }, { metadata });
  const changes = await start('plan', '--provider-config', 'metal');
  expect(changes).toMatchObject({ code: 0, asked: [], writes: [] });
  expect(changes.out).toMatch(/^Changes of running machines of shop\/bare, in this order:\n +unknown +shop-machine: /);
  const { machines, updates } = readOutput('plan', (await start('plan', '--provider-config=metal', '-o=json')).out);
  expect([machines, updates.map(({ machine }) => machine)]).toEqual([[], ['shop-machine']]);
});

it('a plan for virtual machines lists their names, and makes no calls', async () => {
  await testbed.objects.credentials();
  await testbed.objects.config('home');
  const { code, out, asked, writes } = await start('plan', '--cluster', 'shop/vms', '--provider-config', 'home');
  expect({ code, asked, writes }).toEqual({ code: 0, asked: [], writes: [] });
  expect(out).toMatch(/^vms-\w+-cp-0 .* would be created\n +creates +virtual machine vms_\w+ on /);
  expect(out).toMatch(/creates +zvol tank\/\S+\/boot, 20 GiB on /);
  expect(out).toMatch(/creates +network card 02:(?!00:00:00)\S+ at \S+, address \d/);
  expect(out).toMatch(/^Endpoint of the API server: https:\/\/[\d.]+:6443$/m);
  expect(testbed.calls.filter(({ simulator }) => simulator === 'truenas')).toEqual([]);
  const { out: changes } = await start('plan', '--provider-config', 'home');
  expect(changes).toBe('No running machine of ProviderConfig home would be changed.\n');
});

it('the check of a ProviderConfig changes nothing', async () => {
  const good = await start('check', '--provider-config', 'metal');
  expect(good).toMatchObject({
    code: 0,
    out: 'ProviderConfig metal: no problems found.\n',
    asked: ['GET /server'],
    writes: [],
  });
  const lost = (spec: Record<string, unknown>) => {
    (spec['hetznerRobot'] as { credentialsRef: object }).credentialsRef = { name: 'lost' };
  };
  await robot.config('poor', { change: (spec) => lost(spec as unknown as Record<string, unknown>) });
  const poor = await start('check', '--provider-config', 'poor');
  expect(poor).toMatchObject({ code: 1, asked: [], writes: [] });
  expect(poor.out).toMatch(/^hetznerRobot\.credentialsRef: .*no Secret lost/);
});

it('servers were neither changed nor renamed', () => {
  const { robot: simulator } = testbed.world;
  expect(simulator.forbiddenCalls()).toEqual([]);
  expect(simulator.servers().map(({ bootCount }) => bootCount)).toEqual([1, 1, 1, 1]);
  for (const number of [first, second, files, foreign]) expect(simulator.writes(number)).toEqual([]);
});

const disk = (serial: string, sizeGb: number, holds: string[] = []) => ({
  ...{ name: 'sda', model: 'EXAMPLE', serial, wwn: '', sizeBytes: sizeGb * 1e9, type: 'ssd', holds },
});

/** Assigns the server to a machine of the cluster, as the provider does. */
async function claim(number: number): Promise<void> {
  const { uid = '' } = (await testbed.objects.getCluster(shop)).metadata;
  const { metadata } = await testbed.platform.create(Machine, {
    apiVersion: `${group}/${version}`,
    kind: 'Machine',
    metadata: { name: 'shop-machine', labels: { [labels.cluster]: clusterId(shop) } },
    spec: {
      providerRef: { name: 'talos', environment: testbed.environment, namespace: testbed.namespace },
      ...{ providerConfigRef: { name: 'metal' }, clusterRef: { ...shop, uid } },
      ...{ platform: 'hetznerRobot', role: 'controlplane', pool: 'cp', slot: 0, size: 'small' },
      ...{ talosVersion: '1.13.9', kubernetesVersion: '1.35.4' },
    },
  });
  const machineRef = { name: metadata.name, uid: metadata.uid, since: '2026-11-22T00:00:00Z' };
  const status = { state: 'Claimed', machineRef };
  await testbed.platform.merge(Host, { name: `server-${number}` }, { status }, { subresource: 'status' });
}

/** Sets the Host's status, as the provider does after its inspection. */
async function lend(number: number, disks?: readonly object[]): Promise<void> {
  const key = { name: `server-${number}` };
  await testbed.platform.merge(Host, key, { spec: { maintenance: false } });
  const hardware = {
    ...{ cpu: { model: 'EXAMPLE', threads: 8 }, memoryMiB: 65536, firmware: 'uefi', nics: [], disks },
    inspectedAt: '2026-11-22T00:00:00Z',
  };
  const status = { observedGeneration: 1, state: 'Available', conditions: [], ...(disks && { hardware }) };
  await testbed.platform.merge(Host, key, { status }, { subresource: 'status' });
}
