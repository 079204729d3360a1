import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKubectlRunner } from '../../test/e2e/support/access/kubectl.ts';
import { missingPeers } from '../../test/peers/find-peer.ts';
import { aCluster, anInstance } from '../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { exampleSecretsBundle } from '../../test/talos/example-config.ts';
import { issueServerCertificate } from '../../test/talos/node-server.ts';
import { issueTestServingCertificate, newTokenKey } from '../../test/world/kube/auth/certificates.ts';
import { kubeconfigOf } from '../../test/world/kube/index.ts';
import { type KubeServerOptions, startKubeServer } from '../../test/world/kube/server.ts';
import { clusterIdentityAnnotations } from '../api/cluster-identity.ts';
import { buildCrds } from '../api/crd.ts';
import { clusterSecretsName, instanceFinalizers } from '../api/names.ts';
import { openmcpCrds } from '../api/openmcp/crds.ts';
import { Cluster, endpointNames } from '../api/openmcp/types.ts';
import { clusterIdentityOf } from '../controllers/cluster/identity.ts';
import { KubeClient } from '../kube/client/client.ts';
import { Namespace, Secret } from '../kube/core-types.ts';
import { isUnauthorized } from '../kube/errors.ts';
import { Event } from '../kube/event-recorder.ts';
import {
  type ApiServerConnection,
  createApiServerConnection,
  loadApiServerConnection,
} from '../kube/transport/api-server-connection.ts';
import { Transport } from '../kube/transport/transport.ts';
import { systemClock } from '../lib/clock.ts';
import { noLog } from '../lib/log.ts';
import { SecretString } from '../lib/secret-string.ts';
import { formatSecretsBundle } from '../talos/secrets/secrets-bundle-file.ts';
import { parseCommandLine } from './flags/parse-command-line.ts';
import { installCrds } from './install/install-crds.ts';
import { runKubeconfig } from './kubeconfig.ts';

const ref = { namespace: 'team', name: 'prod' };
const signal = AbortSignal.timeout(60_000);
let folder: string;
let platform: KubeClient;
const closing: (() => Promise<unknown>)[] = [];

async function startServer(options: Pick<KubeServerOptions, 'serving' | 'clientCa' | 'tokens'>) {
  const serviceAccount = { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' };
  const server = await startKubeServer({ host: '127.0.0.1', port: 0, serviceAccount, ...options });
  closing.push(() => server.close());
  return server;
}

function clientOf(connection: ApiServerConnection): KubeClient {
  const client = new KubeClient(new Transport(connection), { fieldManager: 'test' });
  closing.unshift(() => client.close());
  return client;
}

/** A platform cluster with one Cluster, whose API server trusts the authority of its secrets. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  const bundle = await exampleSecretsBundle();
  const { kubernetes } = bundle.authorities;
  const leaf = await issueServerCertificate(kubernetes);
  const target = await startServer({
    serving: { cert: leaf.certificate, key: leaf.key.reveal() },
    clientCa: kubernetes.certificate,
  });
  const { ca, ...serving } = await issueTestServingCertificate('127.0.0.1');
  const token = 'alice-token';
  const server = await startServer({ serving, tokens: { [token]: { user: 'alice', groups: ['system:masters'] } } });
  await writeFile(join(folder, 'platform'), kubeconfigOf(server.url, ca, { token }));
  platform = clientOf(createApiServerConnection({ server: server.url, ca, token: new SecretString(token) }));
  const crds = [...buildCrds(), ...openmcpCrds];
  await installCrds({ client: platform, crds, clock: systemClock, log: noLog, signal, timeoutSeconds: 10 });
  for (const name of [ref.namespace, anInstance.namespace])
    await platform.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const finalizers = [instanceFinalizers(anInstance).cluster];
  const cluster = await platform.create(Cluster, { ...aCluster(), metadata: { ...ref, finalizers } });
  const endpoints = [{ name: endpointNames.external, url: target.url }];
  const status = { phase: 'Ready', observedGeneration: 1, endpoints };
  await platform.merge(Cluster, ref, { status }, { subresource: 'status' });
  const annotations = clusterIdentityAnnotations(clusterIdentityOf(cluster));
  await platform.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: anInstance.namespace, name: clusterSecretsName(ref), annotations },
    data: { 'secrets.yaml': Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') },
  });
}, 60_000);
afterAll(async () => {
  for (const close of closing) await close();
  await rm(folder, { recursive: true, force: true });
});

/** What the command prints, some hours ago. */
async function issue(words: readonly string[] = [], hoursAgo = 0): Promise<string> {
  const argv = ['kubeconfig', '--cluster=team/prod', '--ttl=1h', `--kubeconfig=${join(folder, 'platform')}`, ...words];
  const line = parseCommandLine(argv, {});
  if (line.command !== 'kubeconfig') throw new Error(`parsed as ${line.command}`);
  const printed: string[] = [];
  const clock = new ManualClock(new Date(Date.now() - hoursAgo * 3_600_000));
  const print = (text: string) => void printed.push(text);
  await runKubeconfig({ ...line.settings, clock, log: noLog, signal, print });
  return printed.join('\n');
}
const open = (text: string): KubeClient => clientOf(loadApiServerConnection({ text: new SecretString(text) }));

it('gives the rights of a reader by default, and those of an administrator on request', async () => {
  const reader = open(await issue());
  expect(await reader.reviewSelf()).toMatchObject({ username: 'cluster-provider-talos:alice' });
  const may = async (client: KubeClient) => {
    const access = ['pods', 'secrets', 'nodes'].map((resource) => client.reviewAccess({ verb: 'list', resource }));
    return await Promise.all(access);
  };
  expect(await may(reader)).toEqual([true, false, false]);
  expect(await may(open(await issue(['--role=admin'])))).toEqual([true, true, true]);
  expect(await may(open(await issue(['--group=nobody'])))).toEqual([false, false, false]);
});

it('is rejected after its lifetime', async () => {
  expect((await open(await issue([], 0.5)).reviewSelf()).groups).toContain('cluster-provider-talos:readers');
  await expect(open(await issue([], 1.5)).reviewSelf()).rejects.toSatisfy(isUnauthorized);
});

it('is recorded with user, role and end', async () => {
  const { items } = await platform.list(Event, { namespace: ref.namespace });
  for (const rights of ['the role reader', 'the role admin', 'the groups nobody'])
    expect(items).toContainEqual(
      expect.objectContaining({
        reason: 'KubeconfigIssued',
        involvedObject: expect.objectContaining({ kind: 'Cluster', ...ref }),
        message: expect.stringContaining(`User alice issued a kubeconfig with ${rights}, valid until 20`),
      }),
    );
});

it('is a kubeconfig that the real kubectl reads', async ({ skip }) => {
  const missing = missingPeers('kubectl');
  if (missing) skip(missing);
  const kubectl = await openKubectlRunner(await issue(['--role=admin']));
  try {
    expect(await kubectl.says(['auth', 'whoami'])).toMatch(/cluster-provider-talos:alice[\s\S]*system:masters/);
    expect(await kubectl.says(['config', 'current-context'])).toBe('team-prod\n');
    expect((await kubectl.run(['get', 'nodes'])).code).toBe(0);
  } finally {
    await kubectl.close();
  }
});
