import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installCrds } from '../../../../src/commands/install/install-crds.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog } from '../../../../src/lib/log.ts';
import { missingForRealKube, startRealKube } from '../../../peers/kube-apiserver.ts';
import {
  missingForRealOperator,
  missingUpstreamCrds,
  startRealOperator,
  upstreamCrds,
} from '../../../peers/openmcp-operator.ts';
import { startK3s } from '../../../support/k3s.ts';
import { installOpenmcpKinds, systemNamespace } from '../../../world/operator/install-openmcp.ts';
import { type AuditEntry, auditArguments, readAuditLog } from '../observation/audit-log.ts';

/** A platform cluster of real programs: kube-apiserver, etcd, the controller-manager and the openMCP operator. */
export interface RealPlatformCluster {
  readonly kubeconfig: string;
  /** The last lines of each program, as a report. */
  logs(): string;
  /** Kills kube-apiserver and starts it again. */
  restart(): Promise<void>;
  /** Calls of the system namespace's accounts so far, oldest first, where an audit log exists. */
  audit(): readonly AuditEntry[];
  close(): Promise<void>;
}

/** The reason why {@link startRealPlatformCluster} cannot work here, in one sentence; undefined when it can. */
export const missingForRealPlatformCluster = (): string | undefined =>
  missingForRealKube(true) ?? missingForRealOperator();

/** Uses the operator's own CRDs where this machine has them, else ours. */
export async function startRealPlatformCluster(options: {
  readonly environment: string;
  /** Of the operator, in its own format. Absent: there is no operator, and the test assigns requests. */
  readonly config?: unknown;
  /** Default: kube-apiserver with etcd and the controller-manager. */
  readonly kube?: 'real' | 'k3s';
  /** The operator deploys providers, too, and their calls are logged. Not with k3s. */
  readonly isDeploying?: boolean;
}): Promise<RealPlatformCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'real-platform-'));
  const apiServerArguments = options.isDeploying ? await auditArguments(folder, systemNamespace) : [];
  const kube =
    options.kube === 'k3s' ? await startK3s() : await startRealKube({ controllers: true, apiServerArguments });
  const close = async (): Promise<void> => {
    await kube.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const kubeconfig = kube.kubeconfigPath;
    const signal = AbortSignal.timeout(60_000);
    const client = new KubeClient(new Transport(loadApiServerConnection({ path: kubeconfig })), {
      fieldManager: 'e2e-test',
    });
    const crds = missingUpstreamCrds() ? [] : upstreamCrds('clusters.openmcp.cloud', 'openmcp.cloud');
    await installCrds({ client, crds, clock: systemClock, log: noLog, signal, timeoutSeconds: 30 });
    await installOpenmcpKinds(client, noLog, signal);
    await client.close();
    const { environment, config, isDeploying = false } = options;
    const operator =
      config === undefined
        ? undefined
        : await startRealOperator({ kubeconfig, namespace: systemNamespace, environment, config, isDeploying });
    return {
      kubeconfig,
      logs: () => `${operator?.logs() ?? ''}\n${kube.logs()}\n`,
      restart: () => kube.restart(0),
      audit: () => readAuditLog(folder),
      close: async () => {
        await operator?.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
