import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent } from 'undici';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { ClusterRoleBinding, Secret } from '../../../../src/kube/core-types.ts';
import { createApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { SecretString as Hidden } from '../../../../src/lib/secret-string.ts';
import { findPeer, missingPeers } from '../../../peers/find-peer.ts';
import { awaitPeerReady, type PeerProcess, startPeerProcess } from '../../../peers/peer-process.ts';
import { respondsOk } from '../../../peers/responds-ok.ts';
import { clientAuth, issueLeaf, type LeafCertificate, openAuthority } from '../certificates/pki.ts';
import type { SimulatedEtcdCluster } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';
import { writeApiServerFiles } from './api-server-files.ts';
import { apiServerFlags } from './api-server-flags.ts';
import { RealEtcdCluster } from './real-etcd-cluster.ts';
import type { WorkloadApiServer, WorkloadBackend } from './workload.ts';

/** Why `realWorkload` cannot work here, in one sentence; undefined when it can. */
export const missingForRealWorkload = (): string | undefined => missingPeers('etcd', 'kube-apiserver');

const startTimeoutSeconds = 120;

/**
 * Real kube-apiservers, one for each control plane, with the certificates, files and flags that Talos derives from the
 * node's configuration, so that configuration errors have their real effect. Differences from a real cluster:
 *
 * - All members of a simulated etcd share one real etcd, which runs while they have a quorum and has no TLS.
 * - The program has one version of Kubernetes, whatever the configuration says.
 * - There is no controller-manager and no scheduler: Nodes and static pods are mirrored from the simulator, namespaces are
 *   never emptied, aggregated ClusterRoles stay empty, PodDisruptionBudgets are never counted. The simulated kubelet runs
 *   Pods that are created with `spec.nodeName`.
 * - Of extra volumes only the files exist that the machine configuration creates, and calls do not pass the
 *   interceptor.
 */
export function realWorkload({ folder }: { readonly folder: string }): WorkloadBackend {
  const clusters = new Map<string, RealEtcdCluster>();
  const clusterOf = (node: TalosNode, cluster: SimulatedEtcdCluster): RealEtcdCluster => {
    const real = clusters.get(cluster.uid) ?? new RealEtcdCluster(node.world, cluster, join(folder, cluster.uid));
    clusters.set(cluster.uid, real);
    return real;
  };
  return {
    start: async (node, cluster) => await startApiServer(node, clusterOf(node, cluster)),
    pods: (node, cluster) => clusterOf(node, cluster).pods.accessOf(node.nodename),
    close: async () => {
      for (const real of clusters.values()) await real.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startApiServer(node: TalosNode, cluster: RealEtcdCluster): Promise<WorkloadApiServer> {
  const path = findPeer('kube-apiserver');
  const view = node.config?.view;
  const address = node.addresses[0];
  if (!path || !view || !address) throw new Error(missingPeers('kube-apiserver') ?? 'there is no configuration');
  const folder = join(cluster.folder, node.nodename);
  await mkdir(folder, { recursive: true });
  await writeApiServerFiles(node, folder);
  const etcdUrl = await cluster.etcd();
  const args = apiServerFlags(view, { minor: node.minor, folder, mounts: join(folder, 'mounts'), address, etcdUrl });
  // For a person who debugs the configuration.
  await writeFile(join(folder, 'flags'), `${args.join('\n')}\n`);
  const env = { ...process.env, POD_IP: address, ...view.kubernetes.apiServerEnv };
  node.signal.throwIfAborted();
  const program = startPeerProcess({ path, args, env, folder });
  const close = async (): Promise<void> => await program.stop(0);
  node.onClose(close);
  const admin = await openAdminAccess(node, address);
  try {
    await awaitAnswers(program, admin);
    await ensureBootstrapObjects(admin, view.kubernetes.bootstrapToken);
    return toApiServer(program, cluster, admin);
  } catch (error) {
    await close();
    await admin.close();
    throw new Error(exitReason(program, error), { cause: error });
  }
}

function toApiServer(
  program: PeerProcess,
  cluster: RealEtcdCluster,
  { client, close: closeClient }: AdminAccess,
): WorkloadApiServer {
  let ended: string | undefined;
  void program.exited.then(() => {
    ended = exitReason(program, undefined);
  });
  const leave = cluster.join(client);
  return {
    get ended() {
      return ended;
    },
    crash: () => program.stop(0),
    close: async () => {
      await leave();
      await program.stop(0);
      await closeClient();
    },
  };
}

/** Its own last message, without the help text before it. */
function exitReason(program: PeerProcess, error: unknown): string {
  const lines = program.tail().split('\n');
  const output = lines.findLast((line) => /^(Error|error|panic|F\d{4}|E\d{4})[: ]/.test(line)) ?? lines.at(-1) ?? '';
  const isOver = error === undefined || (error instanceof Error && error.message.includes('ended before'));
  return isOver ? `the program has ended: ${output}` : String(error instanceof Error ? error.message : error);
}

interface AdminAccess {
  readonly url: string;
  readonly ca: string;
  readonly leaf: LeafCertificate;
  readonly client: KubeClient;
  close(): Promise<void>;
}

/** Talos has a client certificate of its own (talos: controllers/secrets/kubernetes.go). */
async function openAdminAccess(node: TalosNode, address: string): Promise<AdminAccess> {
  const { ca, apiPort } = node.config?.view.kubernetes ?? { ca: { crt: '', key: '' }, apiPort: 0 };
  const authority = await openAuthority(ca.crt, ca.key);
  const who = { commonName: 'talos:admin', organizations: ['system:masters'] };
  const leaf = await issueLeaf(authority, { ...who, usages: [clientAuth], hours: 8760 });
  const url = `https://${toAuthority(address, apiPort)}`;
  const connection = createApiServerConnection({
    server: url,
    ca: authority.pem,
    cert: leaf.cert,
    key: new Hidden(leaf.key),
  });
  const client = new KubeClient(new Transport(connection, { userAgent: 'talos' }), { fieldManager: 'talos' });
  return { url, ca: authority.pem, leaf, client, close: () => client.close() };
}

async function awaitAnswers(program: PeerProcess, { url, ca, leaf }: AdminAccess): Promise<void> {
  const agent = new Agent({ connect: { ca, cert: leaf.cert, key: leaf.key } });
  try {
    await awaitPeerReady('kube-apiserver', program, startTimeoutSeconds, () => respondsOk(`${url}/readyz`, { agent }));
  } finally {
    await agent.close();
  }
}

/** The bootstrap objects for kubelets (talos: controllers/k8s/internal/k8stemplates/kubelet.go, csr.go). */
async function ensureBootstrapObjects({ client }: AdminAccess, bootstrapToken: string): Promise<void> {
  const [id = '', secret = ''] = bootstrapToken.split('.');
  const data = {
    'auth-extra-groups': 'system:bootstrappers:nodes',
    'token-id': id,
    'token-secret': secret,
    'usage-bootstrap-authentication': 'true',
  };
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  await client.apply(
    Secret,
    {
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      data: Object.fromEntries(encoded),
    },
    { force: true },
  );
  const group = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name });
  await client.apply(
    ClusterRoleBinding,
    {
      metadata: { name: 'system-bootstrap-node-bootstrapper' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' },
      subjects: [group('system:bootstrappers:nodes'), group('system:nodes')],
    },
    { force: true },
  );
}
