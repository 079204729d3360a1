import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import { missingForRealKube, startRealKube } from '../../peers/kube-apiserver.ts';
import { createTestAuthority, type PemKeyPair } from '../../peers/test-authority.ts';
import { missingDocker } from '../../support/docker.ts';
import { startK3s } from '../../support/k3s.ts';
import type { RawKubeOptions } from './raw-kube-client.ts';

/** The interface of a started API server to the suite. A missing optional part only skips some tests. */
export interface StartedApiServer {
  /** A member of system:masters, or a similar user. */
  readonly admin: RawKubeOptions;
  /** Garbage collection and namespace deletion run. */
  readonly controllers: boolean;
  /** Signs a client certificate that the server accepts. */
  readonly clientCertificate?: (user: string, groups: readonly string[]) => Promise<PemKeyPair>;
  /** Makes the server compact all old versions. It may be unavailable for some seconds meanwhile. */
  readonly forget?: () => Promise<void>;
  /** Log lines to print when a test fails for no visible reason. */
  readonly logs?: () => string;
  close(): Promise<void>;
}

/** An API server that the suite can run against. */
export interface ApiServerTarget {
  /** As in `KUBE_SUITE=real,world`. */
  readonly name: 'world' | 'real' | 'k3s' | 'given';
  /** Why it is skipped, in one sentence; undefined when it is used. */
  readonly missing: string | undefined;
  start(): Promise<StartedApiServer>;
}

/** `KUBE_SUITE=real,world` selects the platforms; by default all that this machine has. */
function whyNotSelected(name: ApiServerTarget['name']): string | undefined {
  const choice = process.env['KUBE_SUITE'];
  if (!choice || choice.split(',').includes(name)) return undefined;
  return `KUBE_SUITE=${choice} leaves it out.`;
}

/** The simulated API server, in this process. */
export const simulatedApiServer: ApiServerTarget = {
  name: 'world',
  missing: whyNotSelected('world'),
  async start() {
    // Loaded on demand, so that the other platforms do not depend on it.
    const { createKubeStore, startKubeServer: startKube } = await import('../../world/kube/server.ts');
    const [serving, clients] = await Promise.all([createTestAuthority('world'), createTestAuthority('world-clients')]);
    const account = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const token = randomBytes(16).toString('hex');
    const store = createKubeStore();
    const server = await startKube({
      host: '127.0.0.1',
      port: 0,
      store,
      serving: await serving.serving(['127.0.0.1'], ['localhost']),
      clientCa: clients.ca,
      serviceAccount: { privateKey: account.privateKey, issuer: 'https://kubernetes.default.svc' },
      tokens: { [token]: { user: 'admin', groups: ['system:masters'] } },
      // Like the real one by default: without it a probe of /version or /healthz needs credentials.
      anonymousAuth: true,
    });
    return {
      admin: { url: server.url, ca: serving.ca, token },
      controllers: true,
      clientCertificate: clients.client,
      forget: async () => store.compact(),
      close: () => server.close(),
    };
  },
};

/** kube-apiserver, kube-controller-manager and etcd, if this machine has them. */
export const realApiServer: ApiServerTarget = {
  name: 'real',
  missing: whyNotSelected('real') ?? missingForRealKube(true),
  async start() {
    const server = await startRealKube({ controllers: true });
    return {
      admin: { url: server.url, ca: server.ca, token: server.token },
      controllers: true,
      clientCertificate: server.clients.client,
      // The watch cache still has the compacted versions; a restart of the process clears it.
      forget: async () => {
        await server.compact();
        await server.restart();
      },
      logs: server.logs,
      close: server.close,
    };
  },
};

/** k3s in a container, if a Docker engine answers. */
export async function k3sApiServer(): Promise<ApiServerTarget> {
  return {
    name: 'k3s',
    missing: whyNotSelected('k3s') ?? (await missingDocker()),
    async start() {
      const server = await startK3s();
      return {
        admin: await wireOptionsOf(server.kubeconfigPath),
        controllers: true,
        clientCertificate: server.clients.client,
        logs: server.logs,
        close: server.close,
      };
    },
  };
}

const externalKubeconfig = process.env['KUBECONFIG_UNDER_TEST'];

/** The API server of `KUBECONFIG_UNDER_TEST`. The tests leave nothing behind there. */
export const externalApiServer: ApiServerTarget = {
  name: 'given',
  missing:
    whyNotSelected('given') ??
    (externalKubeconfig
      ? existsSync(externalKubeconfig)
        ? undefined
        : `KUBECONFIG_UNDER_TEST names ${externalKubeconfig}, which is not there.`
      : 'KUBECONFIG_UNDER_TEST names no kubeconfig.'),
  async start() {
    return { admin: await wireOptionsOf(externalKubeconfig ?? ''), controllers: true, close: async () => undefined };
  },
};

/** Address and credentials of the current context of a kubeconfig. */
export async function wireOptionsOf(kubeconfigPath: string): Promise<RawKubeOptions> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigPath);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${kubeconfigPath} has no current context with a cluster.`);
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {};
  await config.applyToHTTPSOptions(options);
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  const authorization = (options.headers as Record<string, string> | undefined)?.['Authorization'];
  return {
    url: cluster.server,
    ca: text(options.ca),
    cert: text(options.cert),
    key: text(options.key),
    token: authorization?.replace(/^Bearer /, ''),
  };
}
