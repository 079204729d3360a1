import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';
import { AccessRequest, type OidcAccess } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { renderAdminKubeconfig } from '../../talos/admin-kubeconfig.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { type OidcSimulator, startOidc, type TokenSpec } from '../../world/oidc/index.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { accessHelpers } from '../support/access/access-helpers.ts';
import { AddressPoller } from '../support/access/address-poller.ts';
import { ApiServerPoller } from '../support/access/api-server-poller.ts';
import {
  accessWithToken,
  type OidcKubeconfig,
  oidcAccess,
  readOidcKubeconfig,
  userInfoOf,
} from '../support/access/oidc-access.ts';
import { ConfigMap, clientFromKubeconfig, readSecretsBundle } from '../support/access/workload-cluster.ts';
import { restartKilled } from '../support/provider-process/restart-killed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const cluster = { namespace: 'shop', name: 'wide' };
const alice: TokenSpec = { subject: 'alice', audience: 'kubernetes' };

/** The paths of kube-apiserver that the kubelet probes. */
const probed = ['/livez', '/readyz', '/healthz'];
const others = ['/', '/version', '/api', '/apis', '/api/v1/namespaces', '/metrics', '/livez/etcd', '/openid/v1/jwks'];
const onlyProbes = Object.fromEntries([
  ...probed.map((path) => [path, [200, 200, 200]]),
  ...others.map((path) => [path, [401, 401, 401]]),
]);

/** Three control planes with Talos 1.14, whose API servers read their issuers from documents. */
function rolling(workload: 'world' | 'real', subnet: string): void {
  const open = startTestbed({ subnet, workload, timeScale: 0.004, speed: 5 });
  const { isGranted, ref, objectsOf } = accessHelpers(open, cluster);
  let second: OidcSimulator;
  let folder: string;
  let poller: ApiServerPoller;
  /** Polls the address that the control planes share, which is in every kubeconfig. */
  let shared: AddressPoller;
  const isGone = (name: string) =>
    eventually(`request ${name} is gone`, async () => !(await open().objects.exists(AccessRequest, ref(name))), 90);
  const ask = (name: string, change: Partial<OidcAccess>) =>
    open().objects.request(ref(name), {
      clusterRef: cluster,
      oidc: oidcAccess(open().world.oidc.issuer, { name, roles: [], ...change }),
    });
  const addresses = async () => (await open().objects.machines(cluster)).map(({ status }) => status?.address ?? '');
  const everywhere = async (login: OidcKubeconfig, token: string): Promise<(string | number)[]> =>
    await Promise.all(
      (await addresses()).map((address) =>
        accessWithToken({ ...login, server: `https://${address}:6443` }, token, (user) => user.list(ConfigMap)),
      ),
    );

  prepareTestbed(open, async (testbed) => {
    const { objects, world } = testbed;
    folder = await mkdtemp(join(tmpdir(), 'oidc-'));
    const simulator = {
      clock: new ScaledClock(),
      switchboard: new CallInterceptor(),
      runner: world.machines,
      extra: {},
    };
    second = await startOidc({ ...simulator, folder, host: `${subnet}.5`, port: 0, seed: { algorithm: 'RS256' } });
    await objects.credentials();
    const oidcIssuers = [world.oidc, second].map(({ issuer, ca }) => ({ issuer, caBundle: ca }));
    await objects.config('home', {
      controlPlanes: 3,
      change: (spec) => {
        spec.talos['version'] = '1.14.0';
        Object.assign(spec, { access: { oidcIssuers } });
      },
    });
    await objects.cluster(cluster);
    await eventually(
      'the Cluster is ready',
      async () => (await objects.getCluster(cluster)).status?.phase === 'Ready',
      150,
    );
    const bundle = await readSecretsBundle(testbed, cluster);
    const about = { clusterName: 'wide', lifetimeSeconds: 3600, now: new Date() };
    const kubeconfigAt = (server: string) => renderAdminKubeconfig(bundle, { ...about, server });
    const clients = (await addresses()).map(async (address) =>
      clientFromKubeconfig(await kubeconfigAt(`https://${address}:6443`)),
    );
    poller = new ApiServerPoller(await Promise.all(clients));
    const { endpoint = '' } = (await objects.machines(cluster))[0]?.spec ?? {};
    shared = await AddressPoller.start(await kubeconfigAt(endpoint));
  });
  afterAll(async () => {
    await poller?.stop();
    await shared?.stop();
    await second?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** The status codes of all nodes for a request without credentials. */
  async function anonymously(path: string): Promise<number[]> {
    const ca = (await readSecretsBundle(open(), cluster)).authorities.kubernetes.certificate;
    const agent = new Agent({ connect: { ca } });
    try {
      const asked = (await addresses()).map((address) =>
        request(`https://${address}:6443${path}`, { dispatcher: agent }),
      );
      const answers = await Promise.all(asked);
      await Promise.all(answers.map(({ body }) => body.dump()));
      return answers.map(({ statusCode }) => statusCode);
    } finally {
      await agent.close();
    }
  }
  const whoNeedsNoName = async (): Promise<Record<string, number[]>> => {
    const answers = [...probed, ...others].map(async (path) => [path, await anonymously(path)]);
    return Object.fromEntries(await Promise.all(answers));
  };

  it.runIf(workload === 'real')(
    'lets kubelets probe health anonymously, and allows no other anonymous request',
    async () => {
      expect(await whoNeedsNoName()).toEqual(onlyProbes);
    },
  );

  it('trusts two issuers at once, on every control plane, also when the provider is killed on the way', async () => {
    const maps = [{ name: 'look', rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] }];
    const subjects = [{ kind: 'User', name: 'alice' }];
    const roleBindings = [{ subjects, roleRefs: [{ kind: 'ClusterRole' as const, name: 'look' }] }];
    await ask('corp', { roles: maps, roleBindings });
    await isGranted('corp');
    // Without the prefixes, user names of both issuers could be equal.
    await ask('guests', { issuer: second.issuer, usernamePrefix: 'guest-', groupsPrefix: 'guest-', roleBindings });
    await eventually('the roll is under way', async () => {
      const { status } = await open().objects.getRequest(ref('guests'));
      const messages = status?.conditions?.find(({ type }) => type === 'TrustReady')?.message ?? '';
      return /^[12] of 3 control planes/.test(messages);
    });
    await restartKilled(open());
    await eventually('request guests is granted', async () => {
      const { status } = await open().objects.getRequest(ref('guests'));
      return status?.phase === 'Granted';
    });
    const login = await readOidcKubeconfig(open(), ref('corp'));
    const tokens = [open().world.oidc.issue(alice), second.issue(alice)];
    for (const token of tokens) {
      await eventually('alice is let in everywhere', async () =>
        (await everywhere(login, token)).every((answer) => answer === 'allowed'),
      );
    }
    expect((await userInfoOf(login, tokens[1] ?? '')).username).toBe('guest-alice');
    const foreign = { ...alice, claims: { iss: open().world.oidc.issuer } };
    expect(await everywhere(login, second.issue(foreign))).toEqual([401, 401, 401]);
    if (workload === 'real') expect(await whoNeedsNoName()).toEqual(onlyProbes);
  });

  it('an issuer that could impersonate users of another one is rejected, with the field', async () => {
    await ask('thief', { issuer: 'https://third.example.org', usernamePrefix: 'guest-a' });
    const message = await eventually('it is refused', async () => {
      const { status } = await open().objects.getRequest(ref('thief'));
      return status?.conditions?.find(({ reason }) => reason === 'TrustRejected')?.message;
    });
    expect(message).toMatch(/^spec\.oidc\.usernamePrefix: .*AccessRequest shop\/guests/);
    expect(await objectsOf('thief')).toEqual([]);
    await open().objects.remove(AccessRequest, ref('thief'));
    await isGone('thief');
  });

  it('a withdrawn issuer is trusted nowhere any more, and the other one everywhere', async () => {
    const login = await readOidcKubeconfig(open(), ref('guests'));
    await open().objects.remove(AccessRequest, ref('guests'));
    await isGone('guests');
    expect(await everywhere(login, second.issue(alice))).toEqual([401, 401, 401]);
    await eventually('alice is let in everywhere', async () =>
      (await everywhere(login, open().world.oidc.issue(alice))).every((answer) => answer === 'allowed'),
    );
  });

  it('and every request meanwhile was answered, at every address', async () => {
    await Promise.all([poller.stop(), shared.stop()]);
    // Proves that the measurement is meaningful: servers were away, and others took over.
    const messages = [
      `each node: ${poller.answered} answered, ${poller.moved} by a second server, ${poller.failures.length} failures`,
      `the shared address: ${shared.answered} answered, ${shared.broken} connections broke, ${shared.failures.length} failures`,
      `the slowest answer there: ${shared.slowestSeconds.toFixed(1)} s, silent for ${shared.silentSeconds.toFixed(1)} s`,
    ];
    process.stdout.write(`polled: ${messages.join('; ')}\n`);
    expect([poller.failures, shared.failures]).toEqual([[], []]);
    expect(Math.min(poller.answered, shared.answered)).toBeGreaterThan(50);
    const passes = open().logLines.filter((line) => line.includes('has released the virtual address'));
    // In each rollout: to trust the first, the second, and only the first again. A killed provider repeats a message.
    expect(passes.length).toBeGreaterThanOrEqual(3);
    expect(open().faults()).toEqual([]);
  });
}

const isReal = missingForRealWorkload() === undefined;
describe(`OIDC over three control planes, ${isReal ? 'with real kube-apiservers' : 'simulated'}`, () =>
  rolling(isReal ? 'real' : 'world', isReal ? '127.42.153' : '127.42.152'));
