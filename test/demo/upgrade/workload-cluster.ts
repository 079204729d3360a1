import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { Machine } from '../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { ClusterSession } from '../cluster-session.ts';
import { type DemoContext, providerNamespace } from '../demo-context.ts';
import { demoFolder } from '../folder.ts';

/** An administrator of the cluster that the demo has made. */
export interface WorkloadCluster {
  readonly session: ClusterSession;
  /** For each address of the API server, a kubeconfig that uses it. */
  readonly kubeconfigs: readonly SecretString[];
}

interface Kubeconfig {
  readonly clusters: { cluster: { server: string } }[];
}

/** As the command `kubeconfig` of the program gives it to a platform engineer. */
export async function openWorkloadCluster(
  { session }: DemoContext,
  { namespace, name }: NamespacedRef,
): Promise<WorkloadCluster> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      'dist/main.js',
      'kubeconfig',
      `--cluster=${namespace}/${name}`,
      '--role=admin',
      `--kubeconfig=${join(demoFolder, 'platform.kubeconfig')}`,
    ],
    { env: { ...process.env, POD_NAMESPACE: providerNamespace }, timeout: 30_000 },
  );
  const { items } = await session.client.list(Machine);
  const controlPlanes = items.filter(({ spec }) => spec.role === 'controlplane');
  const isShared = controlPlanes.some(({ spec }) => spec.virtualAddress !== undefined);
  const addresses = controlPlanes.flatMap(({ status }) => status?.address ?? []);
  return {
    session: new ClusterSession(stdout),
    kubeconfigs: isShared
      ? [new SecretString(stdout)]
      : addresses.map((address) => new SecretString(withServer(stdout, `https://${address}:6443`))),
  };
}

function withServer(kubeconfig: string, server: string): string {
  const document = parse(kubeconfig) as Kubeconfig;
  for (const { cluster } of document.clusters) cluster.server = server;
  return stringify(document);
}
