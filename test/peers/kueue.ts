import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPeer, missingPeers } from './find-peer.ts';
import { freePort, type PeerProcess, startPeerProcess } from './peer-process.ts';
import { createTestAuthority } from './test-authority.ts';

/** The namespace of Kueue, of the kubeconfigs and the ClusterProfiles that it reads. */
export const kueueNamespace = 'kueue-system';

/** Kueue finds certificates for metrics at this path only, also without metrics. */
const certificates = '/etc/kueue/metrics/certs';
/** Mounts an empty `/etc` with nothing but these certificates, for Kueue alone. */
const script = `mount -t tmpfs none /etc && mkdir -p ${certificates} && cp "$1"/tls.* ${certificates} && shift && exec "$@"`;

/** Why Kueue cannot run here; undefined when it can. */
export function missingForKueue(): string | undefined {
  const missing = missingPeers('kueue', 'kubeconfig-secretreader');
  if (missing) return missing;
  const may = spawnSync('unshare', ['--map-root-user', '--mount', 'true']);
  return may.status === 0
    ? undefined
    : 'This machine allows no mount namespace, in which Kueue finds its certificates.';
}

/** Starts Kueue with MultiKueue. `folder`: of its own. `kubeconfig`: a path, of the cluster that manages the queues. */
export async function startKueue(options: { folder: string; kubeconfig: string }): Promise<PeerProcess> {
  const { folder, kubeconfig } = options;
  const { cert, key } = await (await createTestAuthority('Kueue')).serving(['127.0.0.1'], []);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify(configurationOf(folder, await freePort('127.0.0.1'))));
  const words = ['--map-root-user', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', folder];
  return startPeerProcess({
    path: 'unshare',
    args: [...words, findPeer('kueue') ?? '', '--config', file],
    env: { ...process.env, KUBECONFIG: kubeconfig },
    keptLines: 5000,
  });
}

/** No webhooks are registered: their server needs a port all the same. */
const configurationOf = (folder: string, port: number): object => ({
  ...{ apiVersion: 'config.kueue.x-k8s.io/v1beta2', kind: 'Configuration', namespace: kueueNamespace },
  // The definitions of the tests know no merge keys, so that an apply would replace lists as a whole.
  featureGates: { MultiKueueClusterProfile: true, VisibilityOnDemand: false, WorkloadRequestUseMergePatch: true },
  leaderElection: { leaderElect: false },
  integrations: { frameworks: ['batch/job'] },
  webhook: { host: '127.0.0.1', port, certDir: folder },
  metrics: { bindAddress: '0' },
  health: { healthProbeBindAddress: '0' },
  internalCertManagement: { enable: false },
  multiKueue: {
    clusterProfile: {
      credentialsProviders: [
        {
          name: 'kubeconfig-secretreader',
          execConfig: {
            apiVersion: 'client.authentication.k8s.io/v1',
            command: findPeer('kubeconfig-secretreader'),
            interactiveMode: 'Never',
            provideClusterInfo: true,
          },
        },
      ],
    },
  },
});
