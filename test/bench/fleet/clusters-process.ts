import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { parseSecretsBundle } from '../../../src/talos/secrets/secrets-bundle-file.ts';
import type { KubeNode } from '../../support/fixtures/kube-node.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { type KubeServer, startKubeServer } from '../../world/kube/server.ts';
import type { ApiObject } from '../../world/kube/storage/store.ts';
import { issueLeaf, openAuthority, serverAuth } from '../../world/talos/certificates/pki.ts';
import { renewHeartbeat } from '../../world/talos/kubernetes/node-conditions.ts';
import { timings } from '../../world/talos/timings.ts';
import { CallCounter, runSimulatorProcess } from '../simulator-process.ts';
import type { ClusterTemplate } from './cluster-template.ts';
import { configName, derivedNames, placementOf, systemAddress, systemPort } from './fleet-layout.ts';
import { withKubeletReport } from './kubelet-report.ts';
import { NameSubstitution } from './name-substitution.ts';

export interface ClustersInput {
  readonly folder: string;
  readonly installation: string;
  readonly clusters: number;
}

export interface ClustersReport {
  /** Calls by name. */
  readonly calls: Readonly<Record<string, number>>;
  /** The numbers of the clusters that received a call. */
  readonly asked: readonly number[];
  /** The number of kubelet reports. */
  readonly reports: number;
}

/** The API servers of all clusters, each with its own certificate authority and address, and their kubelets. */
await runSimulatorProcess(async ({ folder, installation, clusters }: ClustersInput) => {
  const pattern = JSON.parse(await readFile(join(folder, 'pattern.json'), 'utf8')) as ClusterTemplate;
  const bundles = JSON.parse(await readFile(join(folder, 'bundles.json'), 'utf8')) as string[];
  const calls = new CallCounter();
  const asked = new Set<number>();
  let reports = 0;
  const nodes: { readonly server: KubeServer; readonly name: string }[] = [];
  for (let number = 0; number < clusters; number += 1) {
    const { ref, system, addresses } = placementOf(number);
    const switchboard = new CallInterceptor({ kept: 0 });
    switchboard.onCall(({ name }) => {
      calls.add(name);
      asked.add(number);
    });
    const server = await startServer(bundles[number] ?? '', addresses[0] ?? '', switchboard);
    const names = derivedNames(ref, installation, configName(system), `${systemAddress(system)}:${systemPort}`);
    const renaming = new NameSubstitution(pattern.names, [...names, ...addresses]);
    for (const node of renaming.of(pattern.nodes)) {
      server.store.put(withKubeletReport(node) as KubeNode & ApiObject);
      nodes.push({ server, name: node.metadata.name });
    }
  }
  // Spread over time, one after the other.
  let next = 0;
  setInterval(
    () => {
      const node = nodes[next];
      next = (next + 1) % nodes.length;
      if (node) renewHeartbeat(node.server.store, node.name);
      reports += 1;
    },
    (timings.nodeReport * 1000) / nodes.length,
  );
  const tell = (): ClustersReport => {
    const told = { calls: calls.take(), asked: [...asked], reports };
    asked.clear();
    reports = 0;
    return told;
  };
  return { ready: {}, tell };
});

async function startServer(bundle: string, host: string, switchboard: CallInterceptor): Promise<KubeServer> {
  const { authorities, serviceAccountKey } = parseSecretsBundle(new SecretString(bundle));
  const { certificate, key } = authorities.kubernetes;
  const authority = await openAuthority(certificate, key.reveal());
  const who = { commonName: 'kube-apiserver', organizations: ['kube-master'], usages: [serverAuth], hours: 8760 };
  const endpoint = `https://${host}:6443`;
  return await startKubeServer({
    ...{ host, port: 6443, simulator: 'workload', switchboard, gitVersion: 'v1.35.4' },
    serving: await issueLeaf(authority, { ...who, names: ['kubernetes'], addresses: [host, '10.96.0.1'] }),
    clientCa: authority.pem,
    serviceAccount: { privateKey: serviceAccountKey.reveal(), issuer: endpoint, audiences: [endpoint] },
  });
}
