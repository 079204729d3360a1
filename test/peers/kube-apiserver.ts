import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { chooseEtcdSettings, compactEtcd, startEtcd } from './etcd.ts';
import { findPeer, missingPeers, type PeerName } from './find-peer.ts';
import { awaitPeerReady, freePort, type PeerProcess, startPeerProcess } from './peer-process.ts';
import { respondsOk } from './responds-ok.ts';
import { createTestAuthority, type TestAuthority } from './test-authority.ts';

export interface RealKubeOptions {
  /** Also start the controller-manager: garbage collection, namespace deletion, Jobs, Deployments. Default false. */
  readonly controllers?: boolean;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** Additional addresses in its certificate. */
  readonly addresses?: readonly string[];
  /** Additional arguments of kube-apiserver. The last occurrence of a flag wins. */
  readonly apiServerArguments?: readonly string[];
}

/** A real kube-apiserver with its own etcd, on loopback, with RBAC. */
export interface RealKube {
  readonly url: string;
  /** PEM of the certificate authority that signed the serving certificate. */
  readonly ca: string;
  /** Bearer token of a member of system:masters. */
  readonly token: string;
  /** Of that member. In `folder`. */
  readonly kubeconfigPath: string;
  /** Temporary folder with all data of the programs; removed by `close`. */
  readonly folder: string;
  /** Signs client certificates that the server accepts. */
  readonly clients: TestAuthority;
  /** Compacts all old versions of every object in etcd. The watch cache of the server still has them. */
  compact(): Promise<void>;
  /**
   * Stops kube-apiserver and starts it again on the same port: like an upgrade or, with a grace period of 0, like a
   * crash.
   */
  restart(graceSeconds?: number): Promise<void>;
  /** The last lines of each program, for an error message. */
  logs(): string;
  close(): Promise<void>;
}

/** Why `startRealKube` cannot work here, in one sentence; undefined when it can. */
export function missingForRealKube(controllers = false): string | undefined {
  return missingPeers('etcd', 'kube-apiserver', ...(controllers ? (['kube-controller-manager'] as const) : []));
}

const patienceSeconds = 60;

/** Starts etcd, kube-apiserver and optionally the controller-manager. Resolves when requests are served (some 3 s). */
export async function startRealKube(options: RealKubeOptions = {}): Promise<RealKube> {
  const host = options.host ?? '127.0.0.1';
  const folder = mkdtempSync(join(tmpdir(), 'real-kube-'));
  const programs: { name: string; program: PeerProcess }[] = [];
  const close = async () => {
    for (const { program } of [...programs].reverse()) await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const start = (name: PeerName, args: string[]) => {
    const path = findPeer(name);
    if (!path) throw new Error(missingPeers(name));
    const program = startPeerProcess({ path, args, folder });
    programs.push({ name, program });
    return program;
  };
  try {
    const etcd = await chooseEtcdSettings(host, folder);
    programs.push({ name: 'etcd', program: await startEtcd(etcd) });
    const { serve, ...server } = await prepareApiServer({ options, host, folder, etcdUrl: etcd.url, start });
    await serve();
    if (options.controllers) await startControllers(host, folder, server.kubeconfigPath, start);
    return {
      ...server,
      folder,
      compact: () => compactEtcd(etcd.url),
      restart: async (graceSeconds) => {
        const old = programs.findIndex(({ name }) => name === 'kube-apiserver');
        for (const { program } of programs.splice(old, 1)) await program.stop(graceSeconds);
        await serve();
      },
      logs: () => programs.map(({ name, program }) => `--- ${name}\n${program.tail()}`).join('\n'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Start = (name: PeerName, args: string[]) => PeerProcess;

interface ApiServerPlan {
  readonly options: RealKubeOptions;
  readonly host: string;
  readonly folder: string;
  readonly etcdUrl: string;
  readonly start: Start;
}

/** Writes all files that a kube-apiserver needs; `serve` starts it and resolves when it answers. */
async function prepareApiServer({ options, host, folder, etcdUrl, start }: ApiServerPlan) {
  const port = await freePort(host);
  const url = `https://${host}:${port}`;
  const [serving, clients] = await Promise.all([
    createTestAuthority('tests-serving'),
    createTestAuthority('tests-clients'),
  ]);
  const certificate = await serving.serving(
    [host, ...(options.addresses ?? [])],
    ['localhost', 'kubernetes.default.svc'],
  );
  const account = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const token = randomBytes(24).toString('hex');
  const files = {
    'serving.crt': certificate.cert,
    'serving.key': certificate.key,
    'serving-ca.crt': serving.ca,
    'client-ca.crt': clients.ca,
    'service-account.key': account.privateKey,
    'service-account.pub': account.publicKey,
    'tokens.csv': `${token},admin,admin,"system:masters"\n`,
    'admin.kubeconfig': kubeconfigText(url, serving.ca, token),
  };
  const path = (name: keyof typeof files) => join(folder, name);
  mkdirSync(join(folder, 'certs'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const args = [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${host}`,
    `--secure-port=${port}`,
    `--advertise-address=${host}`,
    `--cert-dir=${join(folder, 'certs')}`,
    `--tls-cert-file=${path('serving.crt')}`,
    `--tls-private-key-file=${path('serving.key')}`,
    `--client-ca-file=${path('client-ca.crt')}`,
    `--token-auth-file=${path('tokens.csv')}`,
    `--service-account-key-file=${path('service-account.pub')}`,
    `--service-account-signing-key-file=${path('service-account.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    // The admission plug-in waits for the `default` ServiceAccount, which only the controller-manager creates.
    ...(options.controllers ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...(options.apiServerArguments ?? []),
  ];
  const serve = async () => {
    const program = start('kube-apiserver', args);
    const agent = new Agent({ connect: { ca: serving.ca } });
    const headers = { authorization: `Bearer ${token}` };
    try {
      await awaitPeerReady('kube-apiserver', program, patienceSeconds, () =>
        respondsOk(`${url}/readyz`, { agent, headers }),
      );
    } finally {
      await agent.close();
    }
  };
  return { serve, url, ca: serving.ca, token, kubeconfigPath: path('admin.kubeconfig'), clients };
}

async function startControllers(host: string, folder: string, kubeconfig: string, start: Start): Promise<void> {
  const port = await freePort(host);
  const program = start('kube-controller-manager', [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    `--bind-address=${host}`,
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'certs')}`,
    `--service-account-private-key-file=${join(folder, 'service-account.key')}`,
    `--root-ca-file=${join(folder, 'serving-ca.crt')}`,
    '--use-service-account-credentials',
    '--leader-elect=false',
  ]);
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const health = `https://${host}:${port}/healthz`;
    await awaitPeerReady('kube-controller-manager', program, patienceSeconds, () => respondsOk(health, { agent }));
  } finally {
    await agent.close();
  }
}

function kubeconfigText(server: string, ca: string, token: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'real', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
    'current-context': 'real',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
