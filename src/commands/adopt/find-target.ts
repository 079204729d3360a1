import { Machine } from '../../api/machine.ts';
import { clusterProfileName, instanceFinalizers, type ProviderInstance } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import { findPlatformSection } from '../../api/provider-config-spec.ts';
import { clusterIdentityOf, isOfCluster } from '../../controllers/cluster/identity.ts';
import { parseSpec } from '../../controllers/shared/spec/parse-spec.ts';
import { ProviderError } from '../../lib/errors.ts';
import { platforms } from '../../platforms/index.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { ClusterFlagValue } from '../flags/option-values.ts';

/** The Cluster that a cluster of others is put under. */
export interface AdoptionTarget {
  readonly cluster: Cluster;
  readonly instance: ProviderInstance;
  readonly config: string;
  readonly platform: string;
  readonly size: string;
  /** Who manages the nodes. */
  readonly managedBy: string;
  /** Machines of the Cluster that an earlier run has created. */
  readonly machines: readonly Machine[];
  /** All others on the platform cluster. */
  readonly others: readonly Machine[];
}

/** Throws a ProviderError that names the object and the remedy. */
export async function findAdoptionTarget(
  { kube, namespace, signal }: AccessSession,
  ref: ClusterFlagValue,
): Promise<AdoptionTarget> {
  const cluster = await kube.find(Cluster, ref, signal);
  const what = `Cluster ${ref.namespace}/${ref.name}`;
  if (!cluster) throw rejected(`--cluster: there is no ${what}. Create it with a profile of the platform external.`);
  if (cluster.metadata.deletionTimestamp) throw rejected(`--cluster: ${what} is being deleted.`);
  const { items: configs } = await kube.list(ProviderConfig, {}, signal);
  const candidates = configs.flatMap((config) => findInstance(config, cluster, namespace));
  // Names may contain dots, so that a profile can be read in two ways.
  const isHolder = ({ instance }: Candidate): boolean =>
    cluster.metadata.finalizers?.includes(instanceFinalizers(instance).cluster) ?? false;
  const chosen = candidates.find(isHolder) ?? candidates[0];
  if (!chosen) throw rejected(`--cluster: ${what}: there is no ProviderConfig of its profile ${cluster.spec.profile}.`);
  const { config, instance } = chosen;
  const external = findExternalPlatform(config);
  if (!external)
    throw rejected(
      `--cluster: ${what} has ProviderConfig ${config.metadata.name}, with which the provider makes nodes of its own. Use one with the section external.`,
    );
  if (!isHolder(chosen))
    throw rejected(
      `--cluster: the provider ${instance.provider} in namespace ${namespace} has not seen ${what} yet. Wait until its condition SecretsReady has the reason NotAdopted. If the provider runs elsewhere, set POD_NAMESPACE.`,
    );
  const { items: machines } = await kube.list(Machine, {}, signal);
  const isOwn = (machine: Machine): boolean => isOfCluster(machine, clusterIdentityOf(cluster));
  return {
    ...{ cluster, instance, config: config.metadata.name, ...external },
    machines: machines.filter(isOwn),
    others: machines.filter((machine) => !isOwn(machine)),
  };
}

interface Candidate {
  readonly config: ProviderConfig;
  readonly instance: ProviderInstance;
}

/** The instance that the profile of a Cluster names, if it is one of this ProviderConfig. */
function findInstance(config: ProviderConfig, { spec: { profile } }: Cluster, namespace: string): Candidate[] {
  const provider = config.spec.providerRef.name;
  const ending = clusterProfileName('', provider, config.metadata.name);
  if (!profile.endsWith(ending) || profile.length === ending.length) return [];
  return [{ config, instance: { environment: profile.slice(0, -ending.length), provider, namespace } }];
}

function findExternalPlatform(
  config: ProviderConfig,
): Pick<AdoptionTarget, 'platform' | 'size' | 'managedBy'> | undefined {
  const parsed = parseSpec(config);
  const given = parsed.success ? findPlatformSection(parsed.data) : undefined;
  const platform = platforms.find(({ name }) => name === given?.name);
  const managedBy = platform?.managedBy?.(given?.section);
  if (!platform || managedBy === undefined) return undefined;
  return { platform: platform.name, size: platform.sizes(given?.section)[0] ?? '', managedBy };
}

const rejected = (detail: string): ProviderError => new ProviderError('ADOPTION_REJECTED', detail);
