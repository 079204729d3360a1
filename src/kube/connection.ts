import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { dirname, isAbsolute, join } from 'node:path';
import { KubeConfig, loadYaml } from '@kubernetes/client-node';
import type { Clock } from '../lib/clock.ts';
import { systemClock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import { withoutTail } from '../lib/text.ts';
import { type DefaultKubeconfig, findDefaultKubeconfig } from './kubeconfig-files.ts';

/** What proves who the server is and who we are, at TLS level. A change of it needs new connections. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Credentials of this moment. Headers hold secrets: they go into a request and nowhere else. */
export interface Credentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** Where an API server is and how to show who we are. One for each cluster. */
export interface ClusterConnection {
  /** `https://host:port`, with a path behind it if the server sits behind a proxy. */
  readonly server: string;
  /** Namespace of the context, if it names one. */
  readonly namespace: string | undefined;
  /** Asked before every request, because tokens and certificates rotate. */
  credentials(): Promise<Credentials>;
  /** The server answered 401: forget what is remembered. */
  invalidate(): void;
}

export interface ConnectionOptions {
  /** Content of a kubeconfig. Wins over `path`. */
  readonly text?: Secret;
  /**
   * A kubeconfig file, a folder that holds `kubeconfig`, or a folder that holds `host`, `token` and `ca.crt`. Empty or
   * absent: the files of `$KUBECONFIG`, else `~/.kube/config`, else the ServiceAccount of the Pod that this runs in.
   */
  readonly path?: string;
  /**
   * Where KUBECONFIG, HOME and the in-cluster address are looked up; default: only the latter, in the environment of the process.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its service account. */
  readonly serviceAccountFolder?: string;
  readonly clock?: Clock;
}

/** What is known when somebody hands us the parts instead of a kubeconfig. */
export interface ConnectionParts {
  readonly server: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
  readonly token?: Secret;
  readonly servername?: string;
}

/**
 * Finds out how to reach a cluster. Throws a `CONFIG_INVALID` that says which file, folder or entry is wrong; does not
 * talk to the cluster.
 */
export function connectionFrom(options: ConnectionOptions): ClusterConnection {
  if (options.text) return fromKubeconfig(options.text.reveal(), 'the kubeconfig', undefined, options);
  if (options.path) return fromPath(options.path, options);
  return fromDefault(options) ?? fromPod(options);
}

/** Where no flag names a kubeconfig, as kubectl does it. A missing or empty one leads to the ServiceAccount of the Pod. */
function fromDefault(options: ConnectionOptions): ClusterConnection | undefined {
  let found: DefaultKubeconfig | undefined;
  try {
    found = options.environment && findDefaultKubeconfig(options.environment);
  } catch (error) {
    throw refuse(`The kubeconfig that KUBECONFIG or ~/.kube/config names cannot be read${whatIsWrong(error)}.`);
  }
  return found && fromKubeconfig(found.text, found.name, undefined, options);
}

/** A connection from a server's address and PEM texts. */
export function connectionTo(parts: ConnectionParts): ClusterConnection {
  const tls: TlsMaterial = {
    ...(parts.ca && { ca: parts.ca }),
    ...(parts.cert && { cert: parts.cert }),
    ...(parts.key && { key: parts.key.reveal() }),
    ...(parts.servername && { servername: parts.servername }),
  };
  return {
    server: trimSlash(parts.server),
    namespace: undefined,
    credentials: async () => ({
      // The same object each time: whoever uses it need not compare.
      tls,
      headers: parts.token ? bearer(parts.token.reveal()) : {},
    }),
    invalidate: () => {},
  };
}

const refuse = (detail: string) => new ProviderError('CONFIG_INVALID', detail);
const trimSlash = (url: string) => withoutTail(url, /\//);
const bearer = (token: string) => ({ authorization: `Bearer ${token.trim()}` });

function fromPath(path: string, options: ConnectionOptions): ClusterConnection {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (!kind) throw refuse(`--kubeconfig: ${path} does not exist.`);
  if (!kind.isDirectory()) return fromFile(path, options);
  const inside = join(path, 'kubeconfig');
  if (statSync(inside, { throwIfNoEntry: false })) return fromFile(inside, options);
  const host = join(path, 'host');
  if (!statSync(host, { throwIfNoEntry: false })) {
    throw refuse(`--kubeconfig: the folder ${path} holds neither "kubeconfig" nor "host", "token" and "ca.crt".`);
  }
  return fromFolder(readFileSync(host, 'utf8').trim(), path, undefined, options);
}

function fromFile(path: string, options: ConnectionOptions): ClusterConnection {
  return fromKubeconfig(readFileSync(path, 'utf8'), path, dirname(path), options);
}

function fromPod(options: ConnectionOptions): ClusterConnection {
  const folder = options.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount';
  const server = options.environment ? serverIn(options.environment) : serverOfPod();
  if (!server) {
    throw refuse(
      'KUBERNETES_SERVICE_HOST and _PORT are not set: outside of a cluster, name a file with --kubeconfig or KUBECONFIG.',
    );
  }
  const namespace = join(folder, 'namespace');
  const isThere = statSync(namespace, { throwIfNoEntry: false });
  return fromFolder(server, folder, isThere ? readFileSync(namespace, 'utf8').trim() : undefined, options);
}

function serverIn(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'];
  return host && port && `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The same from the environment of the process, which client-node reads and we do not. */
function serverOfPod(): string | undefined {
  const config = new KubeConfig();
  config.loadFromCluster();
  const server = config.getCurrentCluster()?.server;
  return server?.includes('//undefined:') ? undefined : server;
}

/** Files are small and change once in an hour, as projected tokens do; calls come by the hundred a second. */
const fileSeconds = 5;

/** `token` and `ca.crt` in a folder. */
function fromFolder(
  server: string,
  folder: string,
  namespace: string | undefined,
  { clock = systemClock }: ConnectionOptions,
): ClusterConnection {
  if (!URL.canParse(server)) throw refuse(`${join(folder, 'host')} must hold a URL, e.g. https://10.0.0.1:6443.`);
  const read = async (): Promise<Credentials> => {
    const [token, ca] = await Promise.all([
      readFile(join(folder, 'token'), 'utf8'),
      readFile(join(folder, 'ca.crt'), 'utf8'),
    ]);
    return { tls: { ca }, headers: bearer(token) };
  };
  const memory = remember(read, fileSeconds, clock);
  return { server: trimSlash(server), namespace, credentials: memory.get, invalidate: memory.forget };
}

/** The parts of a kubeconfig user that client-node drops on the floor. */
interface RawUser {
  readonly tokenFile?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: string[];
}

interface RawKubeconfig {
  readonly users?: { name: string; user?: RawUser }[];
}

function fromKubeconfig(
  text: string,
  name: string,
  folder: string | undefined,
  options: ConnectionOptions,
): ClusterConnection {
  const load = () => loadKubeconfig(text, name, folder);
  let config = load();
  const cluster = config.getCurrentCluster();
  if (!cluster) throw refuse(`${name}: "current-context" does not lead to a cluster.`);
  if (!URL.canParse(cluster.server)) throw refuse(`${name}: the server of cluster ${cluster.name} is not a URL.`);
  if (cluster.proxyUrl) throw refuse(`${name}: "proxy-url" is not supported. Remove it from cluster ${cluster.name}.`);
  const user = config.getCurrentUser();
  const raw = rawUser(text, user?.name);
  const isCommand = Boolean(user?.exec ?? user?.authProvider);
  const seconds = isCommand ? 60 : fileSeconds;
  const memory = remember(() => askConfig(config, raw, folder), seconds, options.clock ?? systemClock);
  return {
    server: trimSlash(cluster.server),
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
    // Without the cause: a YAML error quotes the lines around it, and they may hold a token.
    throw refuse(`${name} is not a kubeconfig${whatIsWrong(error)}.`);
  }
  if (folder) config.makePathsAbsolute(folder);
  // client-node refuses plain http unless verification is off; without TLS there is nothing to verify.
  config.clusters = config.clusters.map((c) => (c.server.startsWith('http:') ? { ...c, skipTLSVerify: true } : c));
  config.users = config.users.map((u) => (u.exec ? { ...u, exec: announceExec(u.exec) } : u));
  return config;
}

/** What can be said of a kubeconfig without quoting it. */
function whatIsWrong(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('reason' in error && 'mark' in error) {
    const { reason, mark } = error as { reason: string; mark?: { line?: number } };
    return `: ${reason} in line ${(mark?.line ?? 0) + 1}`;
  }
  return /^(clusters|users|contexts)\[\d+\]/.test(error.message) ? `: ${error.message}` : '';
}

/** Credential plug-ins are owed `KUBERNETES_EXEC_INFO`; client-node 1.4 does not set it. */
function announceExec(exec: { apiVersion?: string; env?: { name: string; value: string }[] }) {
  const info = { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  return { ...exec, env: [...(exec.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] };
}

function rawUser(text: string, name: string | undefined): RawUser {
  const parsed = loadYaml<RawKubeconfig>(text);
  return parsed.users?.find((entry) => entry.name === name)?.user ?? {};
}

async function askConfig(config: KubeConfig, raw: RawUser, folder: string | undefined): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string | string[]> = {};
  for (const [key, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === 'string') headers[key.toLowerCase()] = value.trim();
  }
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  if (raw.tokenFile) {
    const file = isAbsolute(raw.tokenFile) ? raw.tokenFile : join(folder ?? '', raw.tokenFile);
    Object.assign(headers, bearer(await readFile(file, 'utf8')));
  }
  if (raw['as-uid']) headers['impersonate-uid'] = raw['as-uid'];
  if (raw['as-groups']) headers['impersonate-group'] = raw['as-groups'];
  return { tls: tlsOf(options), headers };
}

function tlsOf(options: RequestOptions): TlsMaterial {
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

/** Keeps what `ask` answers for so many seconds, and asks once for many that ask together. */
function remember<T>(ask: () => Promise<T>, seconds: number, clock: Clock) {
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
