import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartedK3sContainer } from '@testcontainers/k3s';
import { loadTestAuthority, type TestAuthority } from '../peers/test-authority.ts';

/** A k3s server in a container: a complete Kubernetes with controllers. */
export interface K3sServer {
  /** Of a member of system:masters; removed by `close`. */
  readonly kubeconfigPath: string;
  /** Signs client certificates that the server accepts. */
  readonly clients: TestAuthority;
  /** Its last log lines. */
  logs(): string;
  /** Not supported: a restarted container gets another port. */
  restart(): Promise<never>;
  close(): Promise<void>;
}

/** `K3S_IMAGE` names another release. */
const image = process.env['K3S_IMAGE'] || 'rancher/k3s:v1.34.1-k3s1';
/** The image may have to be pulled first. */
const patienceMilliseconds = 240_000;
/** Components that the tests do not need. */
const disabledComponents = ['traefik', 'servicelb', 'metrics-server', 'local-storage'];
const clientAuthority = '/var/lib/rancher/k3s/server/tls/client-ca';

/** Requires a Docker engine: see `missingDocker`. */
export async function startK3s(): Promise<K3sServer> {
  // Loaded on demand: it is large, and useless without an engine.
  const { K3sContainer } = await import('@testcontainers/k3s');
  const printed: string[] = [];
  const container = await new K3sContainer(image)
    .withCommand(['server', ...disabledComponents.map((name) => `--disable=${name}`)])
    .withStartupTimeout(patienceMilliseconds)
    .withLogConsumer((stream) => {
      stream.on('data', (chunk: unknown) => {
        printed.push(String(chunk));
        printed.splice(0, printed.length - 200);
      });
    })
    .start();
  try {
    const folder = await mkdtemp(join(tmpdir(), 'k3s-'));
    const kubeconfigPath = join(folder, 'admin.kubeconfig');
    await writeFile(kubeconfigPath, container.getKubeConfig(), { mode: 0o600 });
    const [ca, key] = await Promise.all([
      read(container, `${clientAuthority}.crt`),
      read(container, `${clientAuthority}.key`),
    ]);
    return {
      kubeconfigPath,
      clients: await loadTestAuthority(ca, key),
      logs: () => `--- k3s\n${printed.join('')}`,
      restart: () => Promise.reject(new Error('k3s cannot be started again at the same address')),
      close: async () => {
        await container.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await container.stop();
    throw error;
  }
}

async function read(container: StartedK3sContainer, path: string): Promise<string> {
  const { exitCode, output } = await container.exec(['cat', path]);
  if (exitCode !== 0) throw new Error(`${path} cannot be read in the container: ${output}`);
  return output;
}
