import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { dirname, isAbsolute, join } from 'node:path';
import { KubeConfig, loadYaml } from '@kubernetes/client-node';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { trimTrailing } from '../../lib/text.ts';
import { type DefaultKubeconfig, findDefaultKubeconfig } from './default-kubeconfig.ts';

/** TLS material that authenticates the server and the client. A change requires new connections. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The current credentials. The headers hold secrets: use them only in a request. */
export interface RequestCredentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** The address of an API server and the credentials for it. One object for each cluster. */
export interface ApiServerConnection {
  /** `https://host:port`, with a path if the API server is behind a proxy. */
  readonly server: string;
  /** Namespace of the context, if it names one. */
  readonly namespace: string | undefined;
  /** Called before every request, because tokens and certificates rotate. */
  credentials(): Promise<RequestCredentials>;
  /** Clears the cached credentials after a 401. */
  invalidate(): void;
}

export interface ApiServerConnectionOptions {
  /** Content of a kubeconfig. Takes precedence over `path`. */
  readonly text?: SecretString;
  /**
   * A kubeconfig file, a folder that holds `kubeconfig`, or a folder that holds `host`, `token` and `ca.crt`. Empty or
   * absent: the files of `$KUBECONFIG`, else `~/.kube/config`, else the ServiceAccount of the Pod.
   */
  readonly path?: string;
  /**
   * The source of KUBECONFIG, HOME and the in-cluster address. Default: only the in-cluster address, from the
   * environment of the process.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The folder of the pod's service account. */
  readonly serviceAccountFolder?: string;
  readonly clock?: Clock;
}

/** The parts of a connection without a kubeconfig. */
export interface ApiServerConnectionParts {
  readonly server: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: SecretString;
  readonly token?: SecretString;
  readonly servername?: string;
}

/**
 * Loads the connection to a cluster without calling it. Throws a `CONFIG_INVALID` that names the wrong file, folder or
 * entry.
 */
export function loadApiServerConnection(options: ApiServerConnectionOptions): ApiServerConnection {
  if (options.text) return connectionFromKubeconfig(options.text.reveal(), 'the kubeconfig', undefined, options);
  if (options.path) return connectionFromPath(options.path, options);
  return loadDefaultKubeconfig(options) ?? connectionFromPod(options);
}

/**
 * Without a flag the kubeconfig is found as by kubectl. A missing or empty kubeconfig leads to the ServiceAccount of
 * the Pod.
 */
function loadDefaultKubeconfig(options: ApiServerConnectionOptions): ApiServerConnection | undefined {
  let found: DefaultKubeconfig | undefined;
  try {
    found = options.environment && findDefaultKubeconfig(options.environment);
  } catch (error) {
    throw configInvalid(
      `The kubeconfig that KUBECONFIG or ~/.kube/config names cannot be read${describeKubeconfigError(error)}.`,
    );
  }
  return found && connectionFromKubeconfig(found.text, found.name, undefined, options);
}

/** Creates a connection from a server's address and PEM texts. */
export function createApiServerConnection(parts: ApiServerConnectionParts): ApiServerConnection {
  const tls: TlsMaterial = {
    ...(parts.ca && { ca: parts.ca }),
    ...(parts.cert && { cert: parts.cert }),
    ...(parts.key && { key: parts.key.reveal() }),
    ...(parts.servername && { servername: parts.servername }),
  };
  return {
    server: withoutTrailingSlash(parts.server),
    namespace: undefined,
    credentials: async () => ({
      // Always the same object, so that a comparison by identity detects a change.
      tls,
      headers: parts.token ? bearerHeader(parts.token.reveal()) : {},
    }),
    invalidate: () => {},
  };
}

const configInvalid = (detail: string) => new ProviderError('CONFIG_INVALID', detail);
const withoutTrailingSlash = (url: string) => trimTrailing(url, /\//);
const bearerHeader = (token: string) => ({ authorization: `Bearer ${token.trim()}` });

function connectionFromPath(path: string, options: ApiServerConnectionOptions): ApiServerConnection {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (!kind) throw configInvalid(`--kubeconfig: ${path} does not exist.`);
  if (!kind.isDirectory()) return connectionFromFile(path, options);
  const inside = join(path, 'kubeconfig');
  if (statSync(inside, { throwIfNoEntry: false })) return connectionFromFile(inside, options);
  const host = join(path, 'host');
  if (!statSync(host, { throwIfNoEntry: false })) {
    throw configInvalid(
      `--kubeconfig: the folder ${path} has neither the file kubeconfig nor the files host, token and ca.crt.`,
    );
  }
  return connectionFromFolder(readFileSync(host, 'utf8').trim(), path, undefined, options);
}

function connectionFromFile(path: string, options: ApiServerConnectionOptions): ApiServerConnection {
  return connectionFromKubeconfig(readFileSync(path, 'utf8'), path, dirname(path), options);
}

function connectionFromPod(options: ApiServerConnectionOptions): ApiServerConnection {
  const folder = options.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount';
  const server = options.environment ? serverFromEnvironment(options.environment) : inClusterServer();
  if (!server) {
    throw configInvalid(
      'KUBERNETES_SERVICE_HOST and _PORT are not set: outside of a cluster, set --kubeconfig or KUBECONFIG.',
    );
  }
  const namespace = join(folder, 'namespace');
  const isThere = statSync(namespace, { throwIfNoEntry: false });
  return connectionFromFolder(server, folder, isThere ? readFileSync(namespace, 'utf8').trim() : undefined, options);
}

function serverFromEnvironment(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'];
  return host && port && `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The same from the environment of the process, which client-node reads and this program does not. */
function inClusterServer(): string | undefined {
  const config = new KubeConfig();
  config.loadFromCluster();
  const server = config.getCurrentCluster()?.server;
  return server?.includes('//undefined:') ? undefined : server;
}

/** Files are small and change about once per hour, as projected tokens do; there are hundreds of calls per second. */
const fileCacheSeconds = 5;

/** `token` and `ca.crt` in a folder. */
function connectionFromFolder(
  server: string,
  folder: string,
  namespace: string | undefined,
  { clock = systemClock }: ApiServerConnectionOptions,
): ApiServerConnection {
  if (!URL.canParse(server))
    throw configInvalid(`${join(folder, 'host')} must contain a URL, e.g. https://10.0.0.1:6443.`);
  const read = async (): Promise<RequestCredentials> => {
    const [token, ca] = await Promise.all([
      readFile(join(folder, 'token'), 'utf8'),
      readFile(join(folder, 'ca.crt'), 'utf8'),
    ]);
    return { tls: { ca }, headers: bearerHeader(token) };
  };
  const memory = cacheForSeconds(read, fileCacheSeconds, clock);
  return { server: withoutTrailingSlash(server), namespace, credentials: memory.get, invalidate: memory.forget };
}

/** The fields of a kubeconfig user that client-node ignores. */
interface KubeconfigUser {
  readonly tokenFile?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: string[];
}

interface KubeconfigUsers {
  readonly users?: { name: string; user?: KubeconfigUser }[];
}

function connectionFromKubeconfig(
  text: string,
  name: string,
  folder: string | undefined,
  options: ApiServerConnectionOptions,
): ApiServerConnection {
  const load = () => loadKubeconfig(text, name, folder);
  let config = load();
  const cluster = config.getCurrentCluster();
  if (!cluster) throw configInvalid(`${name}: "current-context" has no cluster.`);
  if (!URL.canParse(cluster.server))
    throw configInvalid(`${name}: the server of cluster ${cluster.name} is not a URL.`);
  if (cluster.proxyUrl)
    throw configInvalid(`${name}: "proxy-url" is not supported. Remove it from cluster ${cluster.name}.`);
  const user = config.getCurrentUser();
  const raw = parseKubeconfigUser(text, user?.name);
  const isCommand = Boolean(user?.exec ?? user?.authProvider);
  const seconds = isCommand ? 60 : fileCacheSeconds;
  const memory = cacheForSeconds(() => resolveCredentials(config, raw, folder), seconds, options.clock ?? systemClock);
  return {
    server: withoutTrailingSlash(cluster.server),
    namespace: config.getContextObject(config.currentContext)?.namespace,
    credentials: memory.get,
    invalidate: () => {
      if (isCommand) config = load();
      memory.forget();
    },
  };
}

function loadKubeconfig(text: string, name: string, folder: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromString(text);
  } catch (error) {
    // Without the cause: a YAML error quotes the lines around it, which may hold a token.
    throw configInvalid(`${name} is not a kubeconfig${describeKubeconfigError(error)}.`);
  }
  if (folder) config.makePathsAbsolute(folder);
  // client-node rejects plain http unless verification is off. Without TLS there is nothing to verify.
  config.clusters = config.clusters.map((c) => (c.server.startsWith('http:') ? { ...c, skipTLSVerify: true } : c));
  config.users = config.users.map((u) => (u.exec ? { ...u, exec: withExecInfo(u.exec) } : u));
  return config;
}

/** Describes the parser's error without quoting the kubeconfig. */
function describeKubeconfigError(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('reason' in error && 'mark' in error) {
    const { reason, mark } = error as { reason: string; mark?: { line?: number } };
    return `: ${reason} in line ${(mark?.line ?? 0) + 1}`;
  }
  return /^(clusters|users|contexts)\[\d+\]/.test(error.message) ? `: ${error.message}` : '';
}

/** Credential plug-ins expect `KUBERNETES_EXEC_INFO`, which client-node 1.4 does not set. */
function withExecInfo(exec: { apiVersion?: string; env?: { name: string; value: string }[] }) {
  const info = { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  return { ...exec, env: [...(exec.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] };
}

function parseKubeconfigUser(text: string, name: string | undefined): KubeconfigUser {
  const parsed = loadYaml<KubeconfigUsers>(text);
  return parsed.users?.find((entry) => entry.name === name)?.user ?? {};
}

async function resolveCredentials(
  config: KubeConfig,
  raw: KubeconfigUser,
  folder: string | undefined,
): Promise<RequestCredentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string | string[]> = {};
  for (const [key, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === 'string') headers[key.toLowerCase()] = value.trim();
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  if (raw.tokenFile) {
    const file = isAbsolute(raw.tokenFile) ? raw.tokenFile : join(folder ?? '', raw.tokenFile);
    Object.assign(headers, bearerHeader(await readFile(file, 'utf8')));
  }
  if (raw['as-uid']) headers['impersonate-uid'] = raw['as-uid'];
  if (raw['as-groups']) headers['impersonate-group'] = raw['as-groups'];
  return { tls: toTlsMaterial(options), headers };
}

function toTlsMaterial(options: RequestOptions): TlsMaterial {
  const text = (value: unknown) => (typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined);
  const [ca, cert, key] = [text(options.ca), text(options.cert), text(options.key)];
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(options.servername && { servername: options.servername }),
    ...(options.rejectUnauthorized === false && { rejectUnauthorized: false }),
  };
}

/** Caches the result of `ask` for `seconds`. Concurrent callers share one call. */
function cacheForSeconds<T>(ask: () => Promise<T>, seconds: number, clock: Clock) {
  let kept: { value: Promise<T>; until: number } | undefined;
  return {
    get: (): Promise<T> => {
      const now = clock.monotonic();
      if (kept && now < kept.until) return kept.value;
      const entry = { value: ask(), until: now + seconds * 1000 };
      kept = entry;
      entry.value.catch(() => {
        if (kept === entry) kept = undefined;
      });
      return entry.value;
    },
    forget: () => {
      kept = undefined;
    },
  };
}
