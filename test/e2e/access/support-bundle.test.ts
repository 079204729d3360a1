import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { eventually } from '../../support/eventually.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import { encodingsOf, findSecretsIn } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.120' });
const ref = { namespace: 'shop', name: 'main' };
/** What users may write where they should not, or may. */
const planted = 'Planted-Secret-4711';
const Pod: ResourceType = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
const podName = 'talos-controller-0';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bundle-'));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

prepareTestbed(open, async ({ objects, platform, namespace }) => {
  await objects.credentials();
  await objects.config('home', {
    workers: 1,
    change: (spec) => {
      Object.assign(spec.talos, {
        patches: [
          { machine: { env: { LICENSE_KEY: planted }, files: [{ ...file, content: planted }] } },
          { cluster: { inlineManifests: [{ name: 'login', contents: `password: ${planted}` }] } },
        ],
        kernelArguments: [`console.token=${planted}`],
      });
    },
  });
  const annotations = { 'team.example/login': planted, 'kubectl.kubernetes.io/last-applied-configuration': planted };
  await objects.cluster(ref, {}, { annotations });
  const isReady = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 90);
  await objects.config('broken', { change: ({ truenas }) => Object.assign(truenas ?? {}, { pool: 'none' }) });
  await objects.cluster({ namespace: 'shop', name: 'waits' }, { config: 'broken' });
  await platform.create(Pod, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: podName } },
    spec: {
      containers: [
        {
          ...{
            name: 'manager',
            image: 'registry.example/cluster-provider-talos:v1.2.3',
            args: ['run', '--environment=test'],
          },
          env: [{ name: 'HTTPS_PROXY', value: `http://user:${planted}@proxy.example` }],
        },
      ],
    },
  } as KubeObject);
});
const file = { path: '/var/etc/login', permissions: 0o600, op: 'create' };

/** Runs the command. The log of the Pod is that of the provider in this process, with a secret of somebody else. */
async function bundle(name: string, kubeconfig: string, ...words: string[]) {
  const { world, logLines } = open();
  const path = join(folder, `${name}.tar.gz`);
  const body = `${logLines.join('\n')}\n{"message":"GET https://user:${planted}@mirror.example: 401"}\n`;
  const stop = world.switchboard.judge((call) =>
    /pods\/.*\/log$/.test(call.name) && isAllowed ? { kind: 'error', status: 200, body } : undefined,
  );
  const isAllowed = !name.startsWith('poor');
  try {
    return {
      path,
      ...(await runProgram('support-bundle', '--kubeconfig', kubeconfig, '--output-file', path, ...words)),
    };
  } finally {
    stop();
  }
}

async function read(path: string): Promise<ReadonlyMap<string, string>> {
  const entries = await unpackTar(gunzipSync(await readFile(path)));
  return new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString('utf8')]));
}

interface Manifest {
  readonly files: readonly { path: string; bytes: number }[];
  readonly leftOut: readonly { what: string; why: string }[];
  readonly hiddenValues: number;
}

// The first: all accounts of this file are one, which keeps the rights that it was given.
it('reads no Secret, and names what the user may not read', async () => {
  const kubeconfig = await open().kubeconfigWith('config/rbac/status-reader.yaml');
  const before = open().calls.length;
  const { path, code, out } = await bundle('poor', kubeconfig, '-o', 'json');
  const calls = open()
    .calls.slice(before)
    .map(({ name }) => name);
  expect(calls.filter((name) => name.includes('/secrets'))).toEqual([]);
  expect(code).toBe(0);
  const { leftOut } = readOutput('support-bundle', out);
  const rights = leftOut.filter(({ why }) => why.includes('config/rbac/support-bundle.yaml'));
  expect(rights.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['objects/nodepools.yaml', 'objects/leases.yaml', 'Pods and their logs']),
  );
  expect((await read(path)).get('poor/objects/clusters.yaml')).toContain('name: main');
});

it('has the objects, their Events, logs and versions, and what is not ready explained', async () => {
  const kubeconfig = await open().kubeconfigWith('config/rbac/support-bundle.yaml');
  const { path, code, err, out } = await bundle('whole', kubeconfig);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(
    /^Wrote .*whole\.tar\.gz: \d+ files, with \d+ values hidden\. Read it before you hand it on\.\n$/,
  );
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const files = await read(path);
  const text = (name: string): string => files.get(`whole/${name}`) ?? '';
  const machines = parseAllDocuments(text('objects/machines.yaml')).map((one) => one.toJS() as KubeObject);
  expect(machines.map(({ kind }) => kind)).toEqual(['Machine', 'Machine']);
  expect(text('objects/providerconfigs.yaml')).toContain('/var/etc/login');
  for (const kind of ['clusters', 'clusterprofiles', 'leases']) expect(text(`objects/${kind}.yaml`)).toContain('kind:');
  expect(text('events.yaml')).toContain('involvedObject:');
  expect(text('status.txt')).toMatch(/^shop\/main +ready/m);
  expect(text('why.txt')).toMatch(/^Cluster shop\/waits is a cluster of profile .*broken\./m);
  expect(text(`logs/${podName}/manager.log`)).toContain('"message":"');
  expect(text('pods.yaml')).toContain('registry.example/cluster-provider-talos:v1.2.3');
  expect(parse(text('versions.yaml'))).toMatchObject({
    apiServer: { version: expect.stringMatching(/^v1\./) },
    customResourceDefinitions: expect.arrayContaining([
      expect.objectContaining({ name: 'machines.talos.clusters.openmcp.cloud' }),
    ]),
  });
  const manifest = parse(text('manifest.yaml')) as Manifest;
  expect(manifest.leftOut.map(({ what }) => what)).toEqual(['Secrets']);
  expect(manifest.files.map(({ path: name }) => `whole/${name}`).toSorted()).toEqual(
    [...files.keys()].filter((name) => !name.endsWith('/manifest.yaml')).toSorted(),
  );
});

it('has no secret, in no form, wherever users have written one', async () => {
  const kubeconfig = await open().kubeconfigWith('config/rbac/support-bundle.yaml');
  const { path } = await bundle('searched', kubeconfig);
  const texts = [...(await read(path))].map(([place, text]) => ({ place, text }));
  expect(texts.length).toBeGreaterThan(10);
  expect(findSecretsIn(open(), texts)).toEqual([]);
  const found = texts.filter(({ text }) => encodingsOf(planted).some((form) => text.includes(form)));
  expect(found.map(({ place }) => place)).toEqual([]);
  // The search would find it.
  expect(JSON.stringify((await open().objects.getCluster(ref)).metadata)).toContain(planted);
});

it('is read by the tar of the system', async () => {
  const kubeconfig = await open().kubeconfigWith('config/rbac/support-bundle.yaml');
  const { path } = await bundle('listed', kubeconfig);
  const { stdout } = await promisify(execFile)('tar', ['-tzf', path]);
  expect(stdout.split('\n')).toContain('listed/objects/clusters.yaml');
});

it('is not written over a file, or without an API server', async () => {
  const kubeconfig = await open().kubeconfigWith('config/rbac/support-bundle.yaml');
  expect(await bundle('whole', kubeconfig)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/--output-file: .* exists\. Use another path\./),
  });
  const { path, code } = await bundle('none', '/nowhere');
  expect(code).toBe(1);
  await expect(stat(path)).rejects.toThrow('ENOENT');
});
