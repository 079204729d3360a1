import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent } from 'undici';
import { KubeClient } from '../../../../src/kube/client.ts';
import { connectionTo } from '../../../../src/kube/connection.ts';
import { ClusterRoleBinding, Secret } from '../../../../src/kube/core-types.ts';
import { Transport } from '../../../../src/kube/transport.ts';
import { Secret as Hidden } from '../../../../src/lib/secret.ts';
import { answers } from '../../../peers/answers.ts';
import { findPeer, missingPeers } from '../../../peers/find.ts';
import { awaitReady, type RunningProgram, startProgram } from '../../../peers/program.ts';
import type { Node } from '../node.ts';
import { clientAuth, issueLeaf, type Leaf, openAuthority } from '../pki.ts';
import { writeApiServerFiles } from './files.ts';
import { apiServerFlags } from './flags.ts';
import { RealCluster } from './real-cluster.ts';
import type { ApiServer, WorkloadServer } from './workload.ts';

/** Why `realWorkload` cannot work here, in one sentence; undefined when it can. */
export const missingForRealWorkload = (): string | undefined => missingPeers('etcd', 'kube-apiserver');

const patienceSeconds = 120;

/**
 * Real kube-apiservers, one for each control plane, with the certificates, files and flags that Talos makes of the node's
 * configuration: what is wrong there goes wrong here. Other than in life:
 *
 * - All members of a simulated etcd share one real etcd, which runs while they have a quorum and is asked without TLS.
 * - The program is of one version of Kubernetes, whatever the configuration says.
 * - There is no controller-manager, no scheduler and no kubelet: Nodes and static pods are mirrored from the simulator,
 *   namespaces are never emptied, and aggregated ClusterRoles stay empty.
 * - Of extra volumes only the files are there that the machine configuration makes, and calls pass by the world's switchboard.
 */
export function realWorkload({ folder }: { readonly folder: string }): WorkloadServer {
  const clusters = new Map<string, RealCluster>();
  return {
    start: async (node, cluster) => {
      const real = clusters.get(cluster.uid) ?? new RealCluster(node.world, cluster, join(folder, cluster.uid));
      clusters.set(cluster.uid, real);
      return await start(node, real);
    },
    close: async () => {
      for (const real of clusters.values()) await real.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function start(node: Node, cluster: RealCluster): Promise<ApiServer> {
  const path = findPeer('kube-apiserver');
  const view = node.config?.view;
  const address = node.addresses[0];
  if (!path || !view || !address) throw new Error(missingPeers('kube-apiserver') ?? 'there is no configuration');
  const folder = join(cluster.folder, node.nodename);
  await mkdir(folder, { recursive: true });
  await writeApiServerFiles(node, folder);
  const etcdUrl = await cluster.etcd();
  const args = apiServerFlags(view, { minor: node.minor, folder, mounts: join(folder, 'mounts'), address, etcdUrl });
  // For people who look for what was asked for.
  await writeFile(join(folder, 'flags'), `${args.join('\n')}\n`);
  const env = { ...process.env, POD_IP: address, ...view.kubernetes.apiServerEnv };
  node.signal.throwIfAborted();
  const program = startProgram({ path, args, env, folder });
  const close = async (): Promise<void> => await program.stop(0);
  node.onClose(close);
  const admin = await adminOf(node, address);
  try {
    await awaitAnswers(program, admin);
    await ensureBootstrapObjects(admin, view.kubernetes.bootstrapToken);
    return serving(program, cluster, admin);
  } catch (error) {
    await close();
    await admin.close();
    throw new Error(reasonOf(program, error), { cause: error });
  }
}

function serving(program: RunningProgram, cluster: RealCluster, { client, close: closeClient }: Admin): ApiServer {
  let ended: string | undefined;
  void program.exited.then(() => {
    ended = reasonOf(program, undefined);
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

/** Its own last word, and not the help that it prints before. */
function reasonOf(program: RunningProgram, error: unknown): string {
  const lines = program.tail().split('\n');
  const said = lines.findLast((line) => /^(Error|error|panic|F\d{4}|E\d{4})[: ]/.test(line)) ?? lines.at(-1) ?? '';
  const isOver = error === undefined || (error instanceof Error && error.message.includes('ended before'));
  return isOver ? `the program has ended: ${said}` : String(error instanceof Error ? error.message : error);
}

interface Admin {
  readonly url: string;
  readonly ca: string;
  readonly leaf: Leaf;
  readonly client: KubeClient;
  close(): Promise<void>;
}

/** Talos has a client certificate of its own (talos: controllers/secrets/kubernetes.go). */
async function adminOf(node: Node, address: string): Promise<Admin> {
  const { ca, apiPort } = node.config?.view.kubernetes ?? { ca: { crt: '', key: '' }, apiPort: 0 };
  const authority = await openAuthority(ca.crt, ca.key);
  const who = { commonName: 'talos:admin', organizations: ['system:masters'] };
  const leaf = await issueLeaf(authority, { ...who, usages: [clientAuth], hours: 8760 });
  const url = `https://${address}:${apiPort}`;
  const connection = connectionTo({ server: url, ca: authority.pem, cert: leaf.cert, key: new Hidden(leaf.key) });
  const client = new KubeClient(new Transport(connection, { userAgent: 'talos' }), { fieldManager: 'talos' });
  return { url, ca: authority.pem, leaf, client, close: () => client.close() };
}

async function awaitAnswers(program: RunningProgram, { url, ca, leaf }: Admin): Promise<void> {
  const agent = new Agent({ connect: { ca, cert: leaf.cert, key: leaf.key } });
  try {
    await awaitReady('kube-apiserver', program, patienceSeconds, () => answers(`${url}/readyz`, { agent }));
  } finally {
    await agent.close();
  }
}

/** With what kubelets come in (talos: controllers/k8s/internal/k8stemplates/kubelet.go, csr.go). */
async function ensureBootstrapObjects({ client }: Admin, bootstrapToken: string): Promise<void> {
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
