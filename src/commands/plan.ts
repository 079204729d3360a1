import { ClusterConfig } from '../api/cluster-config.ts';
import { isSameCluster } from '../api/cluster-identity.ts';
import { Host, hostsOfPlatform } from '../api/host.ts';
import { Machine } from '../api/machine.ts';
import { clusterId, labels } from '../api/names.ts';
import { NodePool } from '../api/node-pool.ts';
import { Cluster, ClusterProfile } from '../api/openmcp/types.ts';
import { ProviderConfig } from '../api/provider-config.ts';
import type { ProviderConfigSpec } from '../api/provider-config-spec.ts';
import { clusterIdentityOf, clusterOfMachine } from '../controllers/cluster/identity.ts';
import { chooseOfferedVersion } from '../controllers/cluster/kubernetes-version.ts';
import { comparePools, listDesiredSlots, type SlotInput } from '../controllers/cluster/scaling/machine-slots.ts';
import { readDesiredNodePrefix } from '../controllers/cluster/view.ts';
import { type ClusterPlan, type ClusterPlanInput, planCluster } from '../controllers/plan/plan-cluster.ts';
import { type PlannedUpdate, planUpdates } from '../controllers/plan/plan-updates.ts';
import { fixedEndpointOf, reservedAddresses } from '../controllers/shared/addresses/fixed-endpoints.ts';
import { choosePlatform } from '../controllers/shared/spec/choose-platform.ts';
import { resolveDesiredSpec } from '../controllers/shared/spec/desired-spec.ts';
import { failureDomainsOrDefault } from '../engine/capabilities/failure-domains.ts';
import { ObjectStore } from '../kube/reflector/object-store.ts';
import { ProviderError } from '../lib/errors.ts';
import type { SecretStrings } from '../lib/secret-string.ts';
import { platforms } from '../platforms/index.ts';
import type { PlanSettings } from './flags/read-only-settings.ts';
import { describeMachineConfigs, describePlan } from './output/describe-plan.ts';
import { describeUpdates } from './output/describe-updates.ts';
import { toPlanOutput } from './output/plan-output.ts';
import { formatStructured } from './output/structured-output.ts';
import {
  type ReadOnlyCommandContext,
  type ReadOnlySession,
  withReadOnlySession,
} from './read-only/read-only-session.ts';
import { selectProviderConfig } from './read-only/select-provider-config.ts';

/**
 * Prints the effects of creating the machines of a cluster, and the changes of running ones; with a ProviderConfig of the platform
 * cluster alone, only these. Returns whether all machines can be placed.
 */
export async function runPlan(options: PlanSettings & ReadOnlyCommandContext): Promise<boolean> {
  const isOfCluster = options.cluster !== undefined || options.files !== undefined;
  const [made, updates] = await withReadOnlySession(options, (at) =>
    Promise.all([isOfCluster ? buildPlan(at, options) : undefined, listUpdates(at, options)]),
  );
  printPlan(options, made, updates);
  if (!made) return true;
  const lines = [...made.machines.flatMap((machine) => machine.lines), ...made.shared];
  return made.machines.every(({ error }) => error === undefined) && lines.every(({ effect }) => effect !== 'blocked');
}

function printPlan(
  { output, documents, providerConfig, print }: PlanSettings & ReadOnlyCommandContext,
  made: ClusterPlan | undefined,
  updates: readonly PlannedUpdate[],
): void {
  if (output !== 'text') {
    print(formatStructured(toPlanOutput(made, updates, documents), output));
    return;
  }
  const changes = describeUpdates(updates);
  if (!made) {
    print(changes ?? `No running machine of ProviderConfig ${providerConfig} would be changed.`);
    return;
  }
  print(describePlan(made));
  if (changes !== undefined) print(`\n${changes}`);
  if (documents) for (const document of describeMachineConfigs(made)) print(document);
}

async function buildPlan(at: ReadOnlySession, { cluster: given, providerConfig }: PlanSettings): Promise<ClusterPlan> {
  const { kube, signal, connections, log, clock } = at;
  const template = await findProviderConfig(at, given, providerConfig);
  const ref = given ?? { namespace: 'default', name: template.metadata.name };
  const cluster = await kube.find(Cluster, ref, signal);
  const spec = await buildDesiredSpec(at, template, cluster);
  const chosen = choosePlatform(platforms, spec);
  if (!chosen) throw invalidProviderConfig(at, template.metadata.name);
  const { platform, config } = chosen;
  if (platform.isExternal)
    throw new ProviderError(
      'CONFIG_INVALID',
      `The nodes of clusters with ProviderConfig ${template.metadata.name} are made by others: use the command adopt.`,
    );
  // Without a Cluster no existing Machine is its own, whatever its name.
  const identity = cluster ? clusterIdentityOf(cluster) : { ...ref, uid: '' };
  const isOwn = (one: Machine | NodePool): boolean => isSameCluster(clusterOfMachine(one), identity);
  const prefix = cluster && readDesiredNodePrefix({ cluster });
  const failureDomains = platform.failureDomains.names(config);
  const ofCluster = { labelSelector: `${labels.cluster}=${clusterId(ref)}` };
  const [hosts, machines, nodePools, ofConfig, installation] = await Promise.all([
    platform.hosts ? kube.list(Host, {}, signal) : { items: [] },
    kube.list(Machine, ofCluster, signal),
    kube.list(NodePool, ofCluster, signal),
    failureDomains.length > 0 ? listMachines(at, template) : [],
    at.installationId(),
  ]);
  const credentials = new Map<string | undefined, SecretStrings>();
  for (const failureDomain of failureDomainsOrDefault(failureDomains))
    credentials.set(failureDomain, await findCredentials(at, platform.config.credentialsRef(config, failureDomain)));
  const desired = cluster?.spec.kubernetes?.version?.replace(/^v(?=\d)/, '');
  const existing: SlotInput = {
    ...{ ref, spec, secrets: { nodePrefix: prefix } },
    ...{ machines: machines.items.filter(isOwn), nodePools: nodePools.items.filter(isOwn) },
  };
  return await planCluster({
    platform,
    slots: listDesiredSlots(existing),
    surplus: comparePools(existing).flatMap(({ surplus }) => surplus.map(({ metadata }) => metadata.name)),
    ...{
      spec,
      machines: existing.machines,
      hosts: hostsOfPlatform(hosts.items, platform.name),
      section: chosen.section,
    },
    ...addressAssignments(at, template, spec),
    sources: {
      ...{ spec, clusterRef: identity, providerConfigRef: { name: template.metadata.name }, platform: platform.name },
      kubernetesVersion: chooseOfferedVersion(spec, desired) ?? desired ?? '',
    },
    owner: { installation: installation ?? '', provider: template.spec.providerRef.name },
    ofConfig: ofConfig.map((machine) => machine.spec),
    previewContext: { config, connections, log, clock, signal },
    credentialsAt: (failureDomain) => credentials.get(failureDomain) ?? {},
  });
}

/** The changes of the running machines of a Cluster; without one, of all Clusters of the ProviderConfig. */
async function listUpdates(
  at: ReadOnlySession,
  { cluster: given, providerConfig }: PlanSettings,
): Promise<PlannedUpdate[]> {
  const template = await findProviderConfig(at, given, providerConfig);
  const machines = await listMachines(at, template);
  if (machines.length === 0) return [];
  const only = given && (await at.kube.find(Cluster, given, at.signal));
  const clusters = only ? [only] : given ? [] : (await at.kube.list(Cluster, {}, at.signal)).items;
  return planUpdates(clusters, machines, await buildDesiredSpec(at, template, only));
}

/** All Machines that were created from a template, of any cluster. */
async function listMachines({ kube, signal }: ReadOnlySession, { metadata, spec }: ProviderConfig): Promise<Machine[]> {
  const { items } = await kube.list(Machine, { labelSelector: `${labels.provider}=${spec.providerRef.name}` }, signal);
  return items.filter((machine) => machine.spec.providerConfigRef.name === metadata.name);
}

/** A plan from a file may have no credentials yet, and most of the plan works without them. */
async function findCredentials(
  { credentials, isFile }: ReadOnlySession,
  name: string | undefined,
): Promise<SecretStrings> {
  if (name === undefined) return {};
  try {
    return await credentials(name);
  } catch (error) {
    if (isFile && error instanceof ProviderError && error.code === 'CREDENTIALS_MISSING') return {};
    throw error;
  }
}

/** The fixed endpoint, the reserved addresses and the claims on addresses, as a plan needs them. */
function addressAssignments(
  { leasesOf, signal }: ReadOnlySession,
  template: ProviderConfig,
  spec: ProviderConfigSpec,
): Pick<ClusterPlanInput, 'fixedEndpoint' | 'reserved' | 'holderOf'> {
  const leases = leasesOf(template.spec.providerRef.name);
  const stores = { providerConfigs: { list: () => [template] } };
  return {
    fixedEndpoint: fixedEndpointOf(platforms, spec),
    reserved: reservedAddresses({ platforms, stores }),
    holderOf: async (address) => await leases.holderOf(address, signal),
  };
}

async function findProviderConfig(
  at: ReadOnlySession,
  ref: PlanSettings['cluster'],
  named: string | undefined,
): Promise<ProviderConfig> {
  const { kube, signal, isFile } = at;
  if (isFile) return selectProviderConfig((await kube.list(ProviderConfig, {}, signal)).items, named);
  const name = named ?? (ref && (await findProviderConfigName(at, ref, await kube.find(Cluster, ref, signal))));
  const found = name === undefined ? undefined : await kube.find(ProviderConfig, { name }, signal);
  if (!found) throw new ProviderError('CONFIG_INVALID', `There is no ProviderConfig ${name}.`);
  return found;
}

/** The ProviderConfig behind the profile of a Cluster. */
async function findProviderConfigName(
  { kube, signal }: ReadOnlySession,
  { namespace, name }: NonNullable<PlanSettings['cluster']>,
  cluster: Cluster | undefined,
): Promise<string> {
  if (!cluster) {
    throw new ProviderError(
      'CONFIG_INVALID',
      `There is no Cluster ${name} in namespace ${namespace}. To plan a new one, set --provider-config.`,
    );
  }
  const profile = await kube.find(ClusterProfile, { name: cluster.spec.profile }, signal);
  if (profile) return profile.spec.providerConfigRef.name;
  throw new ProviderError(
    'CONFIG_INVALID',
    `spec.profile: there is no ClusterProfile ${cluster.spec.profile}. It is published when its ProviderConfig is ready: run check --provider-config.`,
  );
}

/** The desired spec of the Cluster. Throws CONFIG_INVALID. */
async function buildDesiredSpec(
  at: ReadOnlySession,
  template: ProviderConfig,
  cluster: Cluster | undefined,
): Promise<ProviderConfigSpec> {
  const { kube, signal } = at;
  const clusterConfigs = new ObjectStore<ClusterConfig>();
  if (cluster?.spec.clusterConfigs?.length) {
    const namespace = cluster.metadata.namespace ?? '';
    clusterConfigs.replace((await kube.list(ClusterConfig, { namespace }, signal)).items);
  }
  const desired = resolveDesiredSpec({ platforms, stores: { clusterConfigs } }, template, cluster);
  if (!desired) throw invalidProviderConfig(at, template.metadata.name);
  if ('refused' in desired) throw new ProviderError('CONFIG_INVALID', desired.refused.message);
  return desired.spec;
}

const invalidProviderConfig = ({ isFile }: ReadOnlySession, name: string): ProviderError =>
  new ProviderError(
    'CONFIG_INVALID',
    `ProviderConfig ${name} is not valid: run ${isFile ? 'check --config' : `check --provider-config ${name}`}.`,
  );
