import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import type { AccessRequest, Cluster } from '../../api/openmcp/types.ts';
import { clusterIdentityOf } from '../../controllers/cluster/identity.ts';
import { platforms } from '../../platforms/index.ts';
import { explainAccessRequest } from '../../status/explain/explain-access-request.ts';
import { explainCluster } from '../../status/explain/explain-cluster.ts';
import { explainHost } from '../../status/explain/explain-host.ts';
import { explainMachine } from '../../status/explain/explain-machine.ts';
import type { ExplanationJson } from '../../status/explain/explanation.ts';
import { groupMachines } from '../../status/views/cluster-rows.ts';
import { buildOverview, findConfig } from '../../status/views/fleet-overview.ts';
import { describeExplanation } from '../output/describe-explanation.ts';
import { formatStatus } from '../output/status-table.ts';
import type { BundleSession } from './bundle-session.ts';
import type { CollectedObjects } from './collect-objects.ts';
import { redactText } from './redact-text.ts';

const maxExplanations = 500;

/** Adds what `status` prints, and what `why` says about each object that is not ready. */
export function collectExplanations({ files, clock }: BundleSession, objects: CollectedObjects): void {
  const now = clock.now();
  const add = (path: string, text: string): void => {
    const redacted = redactText(text);
    files.hidden += redacted.hidden;
    files.add(path, redacted.text);
  };
  add('status.txt', `${formatStatus(buildOverview(objects), now).join('\n')}\n`);
  const waiting = explainAll(objects).filter(({ isReady }) => !isReady);
  const shown = waiting.slice(0, maxExplanations);
  add('why.txt', shown.map((explanation) => `${describeExplanation(explanation, now)}\n\n`).join(''));
  if (waiting.length > maxExplanations)
    files.leaveOut('why.txt', `${waiting.length} objects are not ready: only ${maxExplanations} are explained.`);
}

function explainAll({ clusters, machines, configs, hosts, requests }: CollectedObjects): readonly ExplanationJson[] {
  const sources = { platforms };
  const byCluster = groupMachines(machines);
  const ownMachines = (cluster: Cluster) => byCluster.get(clusterIdentityKey(clusterIdentityOf(cluster))) ?? [];
  const explain = (cluster: Cluster): ExplanationJson =>
    explainCluster(
      { ...sources, machines: ownMachines(cluster), config: findConfig(configs, cluster.spec.profile) },
      cluster,
    );
  const clusterOf = ({ spec }: AccessRequest): Cluster | undefined =>
    clusters.find(
      ({ metadata }) => metadata.namespace === spec.clusterRef?.namespace && metadata.name === spec.clusterRef?.name,
    );
  return [
    // A Cluster of another provider has no ProviderConfig here.
    ...clusters.filter((one) => findConfig(configs, one.spec.profile) !== undefined).map(explain),
    ...machines.map((machine) => explainMachine(sources, machine)),
    ...hosts.map(explainHost),
    ...requests.map((request) => {
      const cluster = clusterOf(request);
      return explainAccessRequest(request, cluster && explain(cluster));
    }),
  ];
}
