import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KubeClient } from '../../src/kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, ServiceAccount } from '../../src/kube/core-types.ts';
import { createApiServerConnection, loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import type { SecretString } from '../../src/lib/secret-string.ts';
import { TokenAuthorizer } from '../../src/server/token-authorizer.ts';
import { viewerAccess } from '../../src/status/server/access.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { startTestPlatformCluster } from '../world/operator/platform-cluster-fixture.ts';
import { readProjectFile } from './source-tree.ts';

interface Platform {
  readonly kubeconfig: string;
  close(): Promise<void>;
}
const startReal = async (): Promise<Platform> => {
  const { kubeconfigPath: kubeconfig, close } = await startRealKube();
  return { kubeconfig, close };
};

const namespace = 'metrics-access';
interface Role {
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resources?: readonly string[] }[];
}
const roles = (file: string): Role[] => parseAllDocuments(readProjectFile(file)).map((document) => document.toJS());
const reviewing = roles('config/rbac/role.yaml')
  .flatMap(({ rules }) => rules)
  .filter(({ resources = [] }) => resources.some((resource) => resource.endsWith('reviews')));

describe.each([
  { server: 'world/kube', missing: undefined, start: startTestPlatformCluster },
  { server: 'kube-apiserver', missing: missingForRealKube(), start: startReal },
])('access to metrics, by $server', ({ missing, start }) => {
  if (missing) {
    test('is authorized', ({ skip }) => skip(missing));
    return;
  }
  let platform: Platform;
  let admin: KubeClient;
  let provider: KubeClient;
  let access: TokenAuthorizer;

  /** A ServiceAccount bound to a role, and its token. */
  async function account(name: string, role?: string): Promise<SecretString> {
    await admin.apply(ServiceAccount, { metadata: { namespace, name } });
    if (role !== undefined) {
      await admin.apply(ClusterRoleBinding, {
        metadata: { name: `${namespace}-${name}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      } as never);
    }
    return (await admin.requestToken({ namespace, name }, { expirationSeconds: 3600 })).token;
  }
  const evaluate = (token: string) => access.review(`Bearer ${token}`, { path: '/metrics', verb: 'get' });

  beforeAll(async () => {
    platform = await start();
    const connection = loadApiServerConnection({ path: platform.kubeconfig });
    admin = new KubeClient(new Transport(connection), { fieldManager: 'tests' });
    await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const file of ['metrics-reader', 'status-reader'])
      for (const role of roles(`config/rbac/${file}.yaml`)) await admin.apply(ClusterRole, role as never);
    // The provider's rights for access reviews, and no others.
    await admin.apply(ClusterRole, { metadata: { name: 'reviewing' }, rules: reviewing } as never);
    const token = await account('provider', 'reviewing');
    const { tls } = await connection.credentials();
    const own = createApiServerConnection({ server: connection.server, ca: String(tls.ca), token });
    provider = new KubeClient(new Transport(own), { fieldManager: 'provider' });
    access = new TokenAuthorizer({ client: provider, clock: systemClock, log: noLog, served: 'metrics' });
  }, 90_000);
  afterAll(async () => {
    await provider?.close();
    await admin?.close();
    await platform?.close();
  });

  test('C3: is granted by the binding to its role; other, unknown and forged identities are rejected', async () => {
    const reader = await account('prometheus', 'cluster-provider-talos-metrics-reader');
    const other = await account('other');
    expect(await evaluate(reader.reveal())).toBe('allowed');
    expect(await evaluate(other.reveal())).toBe('forbidden');
    expect(await evaluate('invented')).toBe('unauthenticated');
    expect(await evaluate(`${reader.reveal().slice(0, -4)}AAAA`)).toBe('unauthenticated');
  });

  test('to the status page, too, for which every right of its role is needed', async () => {
    const viewer = await account('viewer', 'cluster-provider-talos-status-reader');
    const scraper = await account('scraper', 'cluster-provider-talos-metrics-reader');
    const review = (token: SecretString) => access.review(`Bearer ${token.reveal()}`, ...viewerAccess);
    expect(await review(viewer)).toBe('allowed');
    expect(await review(scraper)).toBe('forbidden');
    const [reader] = roles('config/rbac/status-reader.yaml') as unknown as [{ rules: unknown[] }];
    await admin.apply(ClusterRole, { metadata: { name: 'half' }, rules: reader.rules.slice(1) } as never);
    expect(await review(await account('half', 'half'))).toBe('forbidden');
  });
});
