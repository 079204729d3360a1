import { clusterIdentityKey } from '../api/cluster-identity.ts';
import { Host } from '../api/host.ts';
import { Machine } from '../api/machine.ts';
import { clusterId, labels } from '../api/names.ts';
import { AccessRequest, Cluster } from '../api/openmcp/types.ts';
import { ProviderConfig } from '../api/provider-config.ts';
import { clusterIdentityOf, clusterOfMachine } from '../controllers/cluster/identity.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { systemClock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import { toPrintable } from '../lib/text.ts';
import { platforms } from '../platforms/index.ts';
import { explainAccessRequest } from '../status/explain/explain-access-request.ts';
import { explainCluster } from '../status/explain/explain-cluster.ts';
import { explainHost } from '../status/explain/explain-host.ts';
import { explainMachine } from '../status/explain/explain-machine.ts';
import type { ExplanationJson } from '../status/explain/explanation.ts';
import { findConfig } from '../status/views/fleet-overview.ts';
import type { WhySettings } from './flags/status-settings.ts';
import { describeExplanation, formatObject } from './output/describe-explanation.ts';
import { formatStructured } from './output/structured-output.ts';
import { openKubeClient } from './read-only/open-kube-client.ts';
import type { ReadOnlyCommandContext } from './read-only/read-only-session.ts';

const timeoutSeconds = 120;
/** Objects of one name, in as many namespaces: more than a message can list. */
const maxCandidates = 10;

/** Access of one run, which only reads. */
interface Reader {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

/** An object of the wanted name. */
type Candidate =
  | { readonly kind: 'Cluster'; readonly object: Cluster }
  | { readonly kind: 'Machine'; readonly object: Machine }
  | { readonly kind: 'Host'; readonly object: Host }
  | { readonly kind: 'AccessRequest'; readonly object: AccessRequest };

/** Prints what one object waits for. */
export async function runWhy(options: WhySettings & ReadOnlyCommandContext): Promise<void> {
  const kube = openKubeClient(options);
  try {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
    const reader = { kube, signal };
    const explanation = await explain(reader, chooseCandidate(await findCandidates(reader, options), options));
    options.print(
      options.output === 'text'
        ? describeExplanation(explanation, systemClock.now())
        : formatStructured(explanation, options.output),
    );
  } finally {
    await kube.close();
  }
}

async function findCandidates(
  { kube, signal }: Reader,
  { object: { kind, name }, namespace }: WhySettings,
): Promise<readonly Candidate[]> {
  const find = async <T extends KubeObject>(type: ResourceType<T>): Promise<readonly T[]> => {
    if (kind !== undefined && kind !== type.kind) return [];
    const scope = type.namespaced ? { namespace } : {};
    const fieldSelector = `metadata.name=${name}`;
    return (await kube.list(type, { ...scope, fieldSelector, maxItems: maxCandidates + 1 }, signal)).items;
  };
  const [clusters, machines, hosts, requests] = await Promise.all([
    find(Cluster),
    find(Machine),
    find(Host),
    find(AccessRequest),
  ]);
  return [
    ...clusters.map((object) => ({ kind: 'Cluster', object }) as const),
    ...machines.map((object) => ({ kind: 'Machine', object }) as const),
    ...hosts.map((object) => ({ kind: 'Host', object }) as const),
    ...requests.map((object) => ({ kind: 'AccessRequest', object }) as const),
  ];
}

/** The only candidate. Throws CONFIG_INVALID with all of them if there are several. */
function chooseCandidate(candidates: readonly Candidate[], { object, namespace }: WhySettings): Candidate {
  const [found, ...more] = candidates;
  if (found && more.length === 0) return found;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  if (!found)
    throw new ProviderError(
      'CONFIG_INVALID',
      toPrintable(`There is no ${object.kind ?? 'Cluster, Machine, Host or AccessRequest'} ${object.name}${where}.`),
    );
  const names = candidates
    .slice(0, maxCandidates)
    .map((one) => formatObject({ kind: one.kind, ...one.object.metadata }));
  const rest = candidates.length > maxCandidates ? ' and others' : '';
  throw new ProviderError(
    'CONFIG_INVALID',
    toPrintable(
      `Several objects have the name ${object.name}: ${names.join(', ')}${rest}. Select one with KIND/NAME and --namespace.`,
    ),
  );
}

async function explain(reader: Reader, { kind, object }: Candidate): Promise<ExplanationJson> {
  switch (kind) {
    case 'Machine':
      return explainMachine({ platforms }, object);
    case 'Host':
      return explainHost(object);
    case 'Cluster':
      return await explainOneCluster(reader, object);
    case 'AccessRequest': {
      const cluster = await findClusterOf(reader, object);
      return explainAccessRequest(object, cluster && (await explainOneCluster(reader, cluster)));
    }
  }
}

async function explainOneCluster({ kube, signal }: Reader, cluster: Cluster): Promise<ExplanationJson> {
  const identity = clusterIdentityOf(cluster);
  const [machines, configs] = await Promise.all([
    kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(identity)}` }, signal),
    kube.list(ProviderConfig, {}, signal),
  ]);
  const isOwn = (machine: Machine): boolean =>
    clusterIdentityKey(clusterOfMachine(machine)) === clusterIdentityKey(identity);
  return explainCluster(
    { platforms, machines: machines.items.filter(isOwn), config: findConfig(configs.items, cluster.spec.profile) },
    cluster,
  );
}

async function findClusterOf({ kube, signal }: Reader, { spec }: AccessRequest): Promise<Cluster | undefined> {
  if (!spec.clusterRef) return undefined;
  const { namespace, name } = spec.clusterRef;
  return (await kube.list(Cluster, { namespace, fieldSelector: `metadata.name=${name}` }, signal)).items[0];
}
