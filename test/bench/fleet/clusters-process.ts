import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Secret } from '../../../src/lib/secret.ts';
import { parseSecretsBundle } from '../../../src/talos/secrets-file.ts';
import type { KubeNode } from '../../support/kube-node.ts';
import { type KubeServer, startKube } from '../../world/kube/server.ts';
import type { ApiObject } from '../../world/kube/store.ts';
import { Switchboard } from '../../world/switchboard.ts';
import { touchNode } from '../../world/talos/node-conditions.ts';
import { issueLeaf, openAuthority, serverAuth } from '../../world/talos/pki.ts';
import { timings } from '../../world/talos/timings.ts';
import { Counts, serve } from '../child.ts';
import type { Pattern } from './pattern.ts';
import { configName, derivedNames, placeOf, systemAddress, systemPort } from './plan.ts';
import { Renaming } from './renaming.ts';
import { reported } from './reported.ts';

export interface ClustersInput {
  readonly folder: string;
  readonly installation: string;
  readonly clusters: number;
}

export interface ClustersTold {
  /** Calls by name. */
  readonly calls: Readonly<Record<string, number>>;
  /** The numbers of those clusters that were asked anything. */
  readonly asked: readonly number[];
  /** How often kubelets reported. */
  readonly reports: number;
}

/** The API servers of all clusters, each with its own authority at its own address, and their kubelets. */
await serve(async ({ folder, installation, clusters }: ClustersInput) => {
  const pattern = JSON.parse(await readFile(join(folder, 'pattern.json'), 'utf8')) as Pattern;
  const bundles = JSON.parse(await readFile(join(folder, 'bundles.json'), 'utf8')) as string[];
  const calls = new Counts();
  const asked = new Set<number>();
  let reports = 0;
  const nodes: { readonly server: KubeServer; readonly name: string }[] = [];
  for (let number = 0; number < clusters; number += 1) {
    const { ref, system, addresses } = placeOf(number);
    const switchboard = new Switchboard({ kept: 0 });
    switchboard.onCall(({ name }) => {
      calls.add(name);
      asked.add(number);
    });
    const server = await startServer(bundles[number] ?? '', addresses[0] ?? '', switchboard);
    const names = derivedNames(ref, installation, configName(system), `${systemAddress(system)}:${systemPort}`);
    const renaming = new Renaming(pattern.names, [...names, ...addresses]);
    for (const node of renaming.of(pattern.nodes)) {
      server.store.put(reported(node) as KubeNode & ApiObject);
      nodes.push({ server, name: node.metadata.name });
    }
  }
  // Each at its own time, one after the other.
  let next = 0;
  setInterval(
    () => {
      const node = nodes[next];
      next = (next + 1) % nodes.length;
      if (node) touchNode(node.server.store, node.name);
      reports += 1;
    },
    (timings.nodeReport * 1000) / nodes.length,
  );
  const tell = (): ClustersTold => {
    const told = { calls: calls.take(), asked: [...asked], reports };
    asked.clear();
    reports = 0;
    return told;
  };
  return { ready: {}, tell };
});

async function startServer(bundle: string, host: string, switchboard: Switchboard): Promise<KubeServer> {
  const { authorities, serviceAccountKey } = parseSecretsBundle(new Secret(bundle));
  const { certificate, key } = authorities.kubernetes;
  const authority = await openAuthority(certificate, key.reveal());
  const who = { commonName: 'kube-apiserver', organizations: ['kube-master'], usages: [serverAuth], hours: 8760 };
  const endpoint = `https://${host}:6443`;
  return await startKube({
    ...{ host, port: 6443, room: 'workload', switchboard, gitVersion: 'v1.35.4' },
    serving: await issueLeaf(authority, { ...who, names: ['kubernetes'], addresses: [host, '10.96.0.1'] }),
    clientCa: authority.pem,
    serviceAccount: { privateKey: serviceAccountKey.reveal(), issuer: endpoint, audiences: [endpoint] },
  });
}
