import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { clusterSecretsName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { accessRoles } from '../../../src/commands/access/find-cluster-access.ts';
import { runKubeconfig } from '../../../src/commands/kubeconfig.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, RoleBinding, Secret } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { noLog } from '../../../src/lib/log.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { openTalosClient, type TalosClient } from '../../../src/talos/client/client.ts';
import { fromBase64 } from '../../../src/talos/secrets/pem.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { runProgram } from '../../support/run-program.ts';
import { askNodesWithTalosctl, describeWithTalosctl } from '../../talos/talosctl.ts';
import { openKubectlRunner } from '../support/access/kubectl.ts';
import { accessResult, ConfigMap, clientFromKubeconfig, withAdminClient } from '../support/access/workload-cluster.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.213' });
const ref = { namespace: 'shop', name: 'main' };
const caller = 'system:serviceaccount:openmcp-system:somebody';
const hour = 60 * 60 * 1000;
let folder: string;
let kubeconfig: string;
let addresses: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'issued-'));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', { workers: 1 });
  await objects.cluster(ref);
  const isReady = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 90);
  addresses = (await objects.machines(ref)).flatMap(({ status }) => status?.address ?? []);
  kubeconfig = await testbed.kubeconfigWith(accessRoles.file);
});

/** Runs a command with the rights of config/rbac/access.yaml. */
const issue = async (command: 'talosconfig' | 'kubeconfig', ...words: string[]) =>
  await runProgram(command, '--cluster', 'shop/main', '--kubeconfig', kubeconfig, ...words);

const eventsOf = async (reason: string): Promise<Event[]> =>
  (await open().platform.list(Event, { namespace: 'shop' })).items.filter((event) => event.reason === reason);

const certificateIn = (base64 = ''): X509Certificate => new X509Certificate(fromBase64(base64) ?? '');
const hoursLeft = (certificate: X509Certificate): number => (Date.parse(certificate.validTo) - Date.now()) / hour;

interface Talosconfig {
  readonly context: string;
  readonly contexts: Record<string, { endpoints: string[]; nodes?: string[]; ca: string; crt: string; key: string }>;
}

/** Makes calls to a node with a printed talosconfig. */
async function withTalosconfig<T>(text: string, address: string, work: (node: TalosClient) => Promise<T>): Promise<T> {
  const { context, contexts } = parse(text) as Talosconfig;
  const { ca = '', crt = '', key = '' } = contexts[context] ?? {};
  const pair = { certificate: fromBase64(crt) ?? '', key: new SecretString(fromBase64(key) ?? '') };
  const credentials = { ca: fromBase64(ca) ?? '', client: async () => pair };
  const node = openTalosClient({ address, credentials });
  try {
    return await work(node);
  } finally {
    await node.close();
  }
}

describe('the talosconfig', () => {
  it('reads nodes for eight hours, and may not reboot one, without a role', async () => {
    const { code, out, err } = await issue('talosconfig');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { context, contexts } = parse(out) as Talosconfig;
    expect(context).toBe('shop-main');
    const [first = ''] = addresses;
    expect(contexts['shop-main']).toMatchObject({ endpoints: [first], nodes: addresses });
    const certificate = certificateIn(contexts['shop-main']?.crt);
    expect(certificate.subject).toBe('O=os:reader');
    expect(hoursLeft(certificate)).toBeGreaterThan(7.9);
    expect(hoursLeft(certificate)).toBeLessThanOrEqual(8);
    for (const address of addresses)
      await withTalosconfig(out, address, async (node) => {
        expect((await node.version()).version).toBe('1.13.9');
        await expect(node.reboot('firmware')).rejects.toMatchObject({ code: 'TALOS_PERMISSION_DENIED' });
      });
  });

  it('reboots a node as operator, but names no node by default', async () => {
    const { out } = await issue('talosconfig', '--role=os:operator', '--ttl=30m');
    const { contexts } = parse(out) as Talosconfig;
    expect(contexts['shop-main']).not.toHaveProperty('nodes');
    expect(hoursLeft(certificateIn(contexts['shop-main']?.crt))).toBeLessThanOrEqual(0.5);
    const address = addresses.at(-1) ?? '';
    const find = () =>
      open()
        .world.machines.nodes()
        .find(({ addresses: own }) => own.includes(address));
    const { boots = 0 } = find() ?? {};
    await withTalosconfig(out, address, async (node) => {
      await expect(node.reset({ graceful: false, reboot: true, wipe: 'disk' })).rejects.toMatchObject({
        code: 'TALOS_PERMISSION_DENIED',
      });
      await node.reboot('firmware');
    });
    // The next tests ask this node.
    const isBack = () => find()?.ready === true && (find()?.boots ?? 0) > boots;
    await eventually('the node is back', isBack, 60);
  });

  it('is recorded on the Cluster: by whom, with which role, until when', async () => {
    const messages = (await eventsOf('TalosconfigIssued')).map(({ message }) => message);
    expect(messages).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          new RegExp(
            `^User ${caller} issued a talosconfig with the role os:operator, valid until \\S+Z \\(SHA-256 [0-9a-f]{64}\\)\\.$`,
          ),
        ),
      ]),
    );
  });
});

describeWithTalosctl((talosctl) => {
  it('reads the version of every node, and does not reboot one', async () => {
    const { out } = await issue('talosconfig');
    const run = async (...words: string[]) => await askNodesWithTalosctl(talosctl, out, words);
    for (const address of addresses) expect(await run('version', '--nodes', address)).toContain('v1.13.9');
    await expect(run('reboot', '--wait=false', '--nodes', addresses[0] ?? '')).rejects.toThrow(/PermissionDenied/);
  });
});

describe('the kubeconfig', () => {
  it('reads objects in namespaces, and neither Secrets nor Nodes, without a role', async () => {
    const { code, out, err } = await issue('kubeconfig');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const client = clientFromKubeconfig(new SecretString(out));
    const list = (type: typeof ConfigMap | typeof Secret) => accessResult(client.list(type, { namespace: 'default' }));
    expect(await list(ConfigMap)).toBe('allowed');
    expect(await list(Secret)).toBe(403);
    expect(await accessResult(client.list(ClusterRole))).toBe(403);
    const { username, groups } = await client.reviewSelf();
    expect(username).toMatch(/^cluster-provider-talos:system:serviceaccount:/);
    expect(groups).toContain('cluster-provider-talos:readers');
    await client.close();
  });

  it('creates the binding once, and refuses another one of its name', async () => {
    const name = 'cluster-provider-talos-readers';
    await withAdminClient(open(), ref, async (admin) => {
      const { metadata } = await admin.get(ClusterRoleBinding, { name });
      await issue('kubeconfig');
      expect((await admin.get(ClusterRoleBinding, { name })).metadata).toEqual(metadata);
      await admin.remove(ClusterRoleBinding, { name });
      await admin.create(ClusterRoleBinding, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [],
      });
      const issued = (await eventsOf('KubeconfigIssued')).length;
      const { code, out, err } = await issue('kubeconfig');
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/ClusterRoleBinding cluster-provider-talos-readers .* Delete it, or use --group/);
      expect((await eventsOf('KubeconfigIssued')).length).toBe(issued);
      await admin.remove(ClusterRoleBinding, { name });
    });
  });

  it('has the given groups, with the rights that the cluster gives them', async () => {
    const { out } = await issue('kubeconfig', '--group=auditors', '--group', 'night:shift', '--ttl=5m');
    const config = parse(out);
    expect(certificateIn(config.users[0].user['client-certificate-data']).subject.split('\n').slice(0, 2)).toEqual([
      'O=auditors',
      'O=night:shift',
    ]);
    const client = clientFromKubeconfig(new SecretString(out));
    expect(await accessResult(client.list(ConfigMap, { namespace: 'default' }))).toBe(403);
    await client.close();
  });

  it('is no longer accepted after its lifetime', async () => {
    const printed: string[] = [];
    const line = { cluster: ref, kubeconfig, podNamespace: open().namespace, force: false, dryRun: false } as const;
    const output = 'yaml' as const;
    const logging = { verbosity: 'info', format: 'text', timestamps: false, stacks: false } as const;
    const at = (now: Date) => ({ clock: new ManualClock(now), log: noLog, signal: AbortSignal.timeout(30_000) });
    const print = (text: string) => printed.push(text);
    const rights = { role: 'admin' } as const;
    for (const age of [1.5, 0.5])
      await runKubeconfig({
        ...{ ...line, logging, output, rights, ttlSeconds: 3600, print },
        ...at(new Date(Date.now() - age * hour)),
      });
    const results = printed.map(async (text) => {
      const client = clientFromKubeconfig(new SecretString(text));
      const result = await accessResult(client.list(Namespace));
      await client.close();
      return result;
    });
    expect(await Promise.all(results)).toEqual([401, 'allowed']);
  });

  it('is recorded on the Cluster', async () => {
    const messages = (await eventsOf('KubeconfigIssued')).map(({ message }) => message);
    for (const rights of ['the role reader', 'the role admin', 'the groups auditors, night:shift'])
      expect(messages).toContainEqual(expect.stringContaining(`User ${caller} issued a kubeconfig with ${rights}, `));
  });
});

describeUnlessMissing('with the real kubectl', missingPeers('kubectl'), () => {
  it('is an administrator whose name says where it comes from', async () => {
    const { out } = await issue('kubeconfig', '--role=admin');
    const kubectl = await openKubectlRunner(out);
    try {
      const { status } = JSON.parse(await kubectl.says(['auth', 'whoami', '-o', 'json']));
      expect(status.userInfo.groups).toContain('system:masters');
      expect(status.userInfo.username).toMatch(/^cluster-provider-talos:/);
      expect(await kubectl.says(['config', 'current-context'])).toBe('shop-main\n');
      const nodes = JSON.parse(await kubectl.says(['get', 'nodes', '-o', 'json']));
      expect(nodes.items).toHaveLength(addresses.length);
    } finally {
      await kubectl.close();
    }
  });
});

it('is printed as JSON on request, which kubectl and talosctl read as well', async () => {
  for (const command of ['talosconfig', 'kubeconfig'] as const) {
    const { code, out } = await issue(command, '--output=json', ...(command === 'kubeconfig' ? ['--role=admin'] : []));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toHaveProperty('contexts');
  }
});

describe('the file of --output-file', () => {
  it('can be read by its owner alone, and is replaced only with --force', async () => {
    const file = join(folder, 'talosconfig');
    expect(await issue('talosconfig', '--output-file', file)).toMatchObject({ code: 0, out: '' });
    const first = await readFile(file, 'utf8');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const refused = await issue('talosconfig', '--output-file', file);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/--output-file: .* exists\. Use another path, or --force/);
    expect(await readFile(file, 'utf8')).toBe(first);
    expect(await issue('talosconfig', '--output-file', file, '--force')).toMatchObject({ code: 0, out: '' });
    expect(await readFile(file, 'utf8')).not.toBe(first);
  });
});

describe('the errors', () => {
  const failing = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await runProgram(...words, '--kubeconfig', kubeconfig);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    return err;
  };

  it('name a Cluster that does not exist, and one that no Talos provider serves', async () => {
    expect(await failing('talosconfig', '--cluster=shop/none')).toMatch(/--cluster: there is no Cluster none/);
    await open().platform.create(Cluster, {
      apiVersion: 'clusters.openmcp.cloud/v1alpha1',
      kind: 'Cluster',
      metadata: { namespace: 'shop', name: 'foreign' },
      spec: { profile: 'test.kind.local', tenancy: 'Shared' },
    });
    expect(await failing('kubeconfig', '--cluster=shop/foreign')).toMatch(/shop\/foreign .*has no finalizer/);
  });

  it('name the role that allows to read the Secret', async () => {
    await open().platform.remove(RoleBinding, { namespace: open().namespace, name: accessRoles.name });
    const message = await failing('talosconfig', '--cluster=shop/main');
    expect(message).toMatch(/main-\w+-talos\\?" is forbidden.* Bind the Role cluster-provider-talos-access of config/);
    kubeconfig = await open().kubeconfigWith(accessRoles.file);
  });

  it('are no reason against a talosconfig if only the Event is not allowed', async () => {
    const recorded = (await eventsOf('TalosconfigIssued')).length;
    const { rules = [] } = await open().platform.get(ClusterRole, { name: accessRoles.name });
    const reduced = rules.filter(({ resources }) => !resources?.includes('events'));
    await open().platform.merge(ClusterRole, { name: accessRoles.name }, { rules: reduced });
    const { code, out, err } = await issue('talosconfig');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^context: shop-main/) });
    expect(err).toMatch(/^WARN .*no Event is recorded: your user may not create Events in namespace shop;/);
    expect((await eventsOf('TalosconfigIssued')).length).toBe(recorded);
    await open().platform.merge(ClusterRole, { name: accessRoles.name }, { rules });
  });

  it('say that the Secret is damaged', async () => {
    const key = { namespace: open().namespace, name: clusterSecretsName(ref) };
    const { data } = await open().platform.get(Secret, key);
    await open().platform.merge(Secret, key, { data: { [secretsBundleKey]: 'bm9uc2Vuc2U=' } });
    expect(await failing('kubeconfig', '--cluster=shop/main')).toMatch(/cluster\.|secrets\b.*(missing|cannot)/);
    await open().platform.merge(Secret, key, { data: { [secretsBundleKey]: data?.[secretsBundleKey] } });
  });
});

it('no secret is in a log, an Event or another object', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
