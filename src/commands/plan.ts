import { ClusterConfig } from '../api/cluster-config.ts';
import { isSameCluster } from '../api/cluster-identity.ts';
import { Host } from '../api/host.ts';
import { Machine } from '../api/machine.ts';
import { clusterId, labels } from '../api/names.ts';
import { Cluster, ClusterProfile } from '../api/openmcp.ts';
import { ProviderConfig } from '../api/provider-config.ts';
import type { ProviderConfigSpec } from '../api/provider-config-spec.ts';
import { clusterOf, refOf } from '../controllers/cluster/identity.ts';
import { chooseOffered } from '../controllers/cluster/kubernetes-version.ts';
import { slotsOf, wishedPrefix } from '../controllers/cluster/view.ts';
import { fixedEndpoint, reservedAddresses } from '../controllers/fixed-endpoints.ts';
import { type Plan, type PlanMaterial, planMachines } from '../controllers/plan.ts';
import { choosePlatform } from '../controllers/spec/platform.ts';
import { wishOf } from '../controllers/spec/wish.ts';
import { sitesIn } from '../engine/sites.ts';
import { Namespace } from '../kube/core-types.ts';
import { Store } from '../kube/store.ts';
import { ProviderError } from '../lib/errors.ts';
import type { Secrets } from '../lib/secret.ts';
import { platforms } from '../platforms/index.ts';
import { describeDocuments, describePlan } from './describe-plan.ts';
import type { PlanSettings } from './look-flags.ts';
import { type LookEdges, type Looking, looking } from './looking.ts';
import { pickConfig } from './pick-config.ts';

/** Prints what would become of the machines of a cluster. Whether all of them would get somewhere. */
export async function plan(options: PlanSettings & LookEdges): Promise<boolean> {
  const made = await looking(options, (at) => planFor(at, options));
  options.print(describePlan(made));
  if (options.documents) for (const document of describeDocuments(made)) options.print(document);
  const lines = [...made.machines.flatMap((machine) => machine.lines), ...made.shared];
  return made.machines.every(({ stuck }) => stuck === undefined) && lines.every(({ effect }) => effect !== 'refuses');
}

async function planFor(at: Looking, { cluster: given, providerConfig }: PlanSettings): Promise<Plan> {
  const { kube, signal, connections, log, clock } = at;
  const template = await findConfig(at, given, providerConfig);
  const ref = given ?? { namespace: 'default', name: template.metadata.name };
  const cluster = await kube.find(Cluster, ref, signal);
  const spec = await specOf(at, template, cluster);
  const chosen = choosePlatform(platforms, spec);
  if (!chosen) throw refuse(at, template.metadata.name);
  const { platform, config } = chosen;
  // Before there is a Cluster no Machine is its own, whatever its name.
  const identity = cluster ? refOf(cluster) : { ...ref, uid: '' };
  const isOwn = (machine: Machine): boolean => isSameCluster(clusterOf(machine), identity);
  const prefix = cluster && wishedPrefix({ cluster });
  const sites = platform.sites.names(config);
  const [hosts, machines, ofConfig, system] = await Promise.all([
    platform.inventory ? kube.list(Host, {}, signal) : { items: [] },
    kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(ref)}` }, signal),
    sites.length > 0 ? machinesOf(at, template) : [],
    kube.find(Namespace, { name: 'kube-system' }, signal),
  ]);
  const credentials = new Map<string | undefined, Secrets>();
  for (const site of sitesIn(sites))
    credentials.set(site, await credentialsFor(at, platform.credentialsRef(config, site)));
  const wished = cluster?.spec.kubernetes?.version?.replace(/^v(?=\d)/, '');
  return await planMachines({
    platform,
    slots: slotsOf({ ref, spec, secrets: { nodePrefix: prefix } }),
    ...{ spec, machines: machines.items.filter(isOwn), hosts: hosts.items, section: chosen.section },
    ...placesOf(at, template, spec),
    sources: {
      ...{ spec, clusterRef: identity, providerConfigRef: { name: template.metadata.name }, platform: platform.name },
      kubernetesVersion: chooseOffered(spec, wished) ?? wished ?? '',
    },
    owner: { installation: system?.metadata.uid ?? '', provider: template.spec.providerRef.name },
    ofConfig,
    ground: { config, connections, log, clock, signal },
    credentialsAt: (site) => credentials.get(site) ?? {},
  });
}

/** All that were made from a template, for whatever cluster. */
async function machinesOf({ kube, signal }: Looking, { metadata, spec }: ProviderConfig): Promise<Machine['spec'][]> {
  const { items } = await kube.list(Machine, { labelSelector: `${labels.provider}=${spec.providerRef.name}` }, signal);
  return items
    .map((machine) => machine.spec)
    .filter(({ providerConfigRef }) => providerConfigRef.name === metadata.name);
}

/** Those who look at a file may have none yet, and most of a plan can be told without. */
async function credentialsFor({ credentials, isFile }: Looking, name: string): Promise<Secrets> {
  try {
    return await credentials(name);
  } catch (error) {
    if (isFile && error instanceof ProviderError && error.code === 'CREDENTIALS_MISSING') return {};
    throw error;
  }
}

/** Who may be where, as far as somebody knows it who looks once. */
function placesOf(
  { leasesOf, signal }: Looking,
  template: ProviderConfig,
  spec: ProviderConfigSpec,
): Pick<PlanMaterial, 'fixedEndpoint' | 'reserved' | 'holderOf'> {
  const leases = leasesOf(template.spec.providerRef.name);
  const stores = { providerConfigs: { list: () => [template] } };
  return {
    fixedEndpoint: fixedEndpoint(platforms, spec),
    reserved: reservedAddresses({ platforms, stores }),
    holderOf: async (address) => await leases.holderOf(address, signal),
  };
}

async function findConfig(
  at: Looking,
  ref: PlanSettings['cluster'],
  named: string | undefined,
): Promise<ProviderConfig> {
  const { kube, signal, isFile } = at;
  if (isFile) return pickConfig((await kube.list(ProviderConfig, {}, signal)).items, named);
  const name = named ?? (ref && (await configNameOf(at, ref, await kube.find(Cluster, ref, signal))));
  const found = name === undefined ? undefined : await kube.find(ProviderConfig, { name }, signal);
  if (!found) throw new ProviderError('CONFIG_INVALID', `There is no ProviderConfig ${name}.`);
  return found;
}

/** The ProviderConfig behind the profile of a Cluster. */
async function configNameOf(
  { kube, signal }: Looking,
  { namespace, name }: NonNullable<PlanSettings['cluster']>,
  cluster: Cluster | undefined,
): Promise<string> {
  if (!cluster) {
    throw new ProviderError(
      'CONFIG_INVALID',
      `There is no Cluster ${name} in namespace ${namespace}. For one that is yet to be made, name its template by --provider-config.`,
    );
  }
  const profile = await kube.find(ClusterProfile, { name: cluster.spec.profile }, signal);
  if (profile) return profile.spec.providerConfigRef.name;
  throw new ProviderError(
    'CONFIG_INVALID',
    `spec.profile: there is no ClusterProfile ${cluster.spec.profile}. It is published when its ProviderConfig is right: see check --provider-config.`,
  );
}

/** What the Cluster is to be like. Throws CONFIG_INVALID. */
async function specOf(
  at: Looking,
  template: ProviderConfig,
  cluster: Cluster | undefined,
): Promise<ProviderConfigSpec> {
  const { kube, signal } = at;
  const clusterConfigs = new Store<ClusterConfig>();
  if (cluster?.spec.clusterConfigs?.length) {
    const namespace = cluster.metadata.namespace ?? '';
    clusterConfigs.replace((await kube.list(ClusterConfig, { namespace }, signal)).items);
  }
  const wish = wishOf({ platforms, stores: { clusterConfigs } }, template, cluster);
  if (!wish) throw refuse(at, template.metadata.name);
  if ('refused' in wish) throw new ProviderError('CONFIG_INVALID', wish.refused.message);
  return wish.spec;
}

const refuse = ({ isFile }: Looking, name: string): ProviderError =>
  new ProviderError(
    'CONFIG_INVALID',
    `ProviderConfig ${name}: see ${isFile ? 'check --config' : `check --provider-config ${name}`}.`,
  );
