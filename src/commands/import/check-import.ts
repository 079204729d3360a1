import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { clusterSecretsName, leaseName } from '../../api/names.ts';
import { NodePool } from '../../api/node-pool.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, isOfCluster } from '../../controllers/cluster/identity.ts';
import type { Installation } from '../../controllers/shared/installation.ts';
import { findTalosCa } from '../../controllers/shared/secrets/cluster-secrets.ts';
import { Lease, Secret } from '../../kube/core-types.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { ImportedCluster } from './read-files.ts';

/**
 * Why the objects of a backup cannot be created, as sentences. Reads only: everything is checked before anything is
 * written, and what the import itself has written before is no obstacle.
 */
export async function findObstacles(
  session: AccessSession,
  imported: ImportedCluster,
  installation: Installation,
): Promise<readonly string[]> {
  const checks = [
    checkFiles,
    checkInstallation,
    checkProvider,
    checkCluster,
    checkMachines,
    checkHosts,
    checkAddresses,
  ];
  const found: string[] = [];
  for (const check of checks) found.push(...(await check(session, imported, installation)));
  return found;
}

type Check = (
  session: AccessSession,
  imported: ImportedCluster,
  installation: Installation,
) => Promise<readonly string[]> | readonly string[];

/** Both files are of one cluster, of the provider in this namespace. */
const checkFiles: Check = ({ namespace }, { objects, secrets }) => {
  const { metadata, record } = objects.cluster;
  const problems: string[] = [];
  const bundle = secrets.find(({ metadata: { name } }) => name === clusterSecretsName(metadata));
  if (!bundle) problems.push(`The Secrets are not those of Cluster ${metadata.namespace}/${metadata.name}.`);
  else if (findTalosCa(bundle) !== record.talosCa)
    problems.push(`Secret ${bundle.metadata.name} of the file does not have the secrets of this cluster.`);
  const other = objects.machines.find(({ spec }) => spec.providerRef.namespace !== namespace);
  if (other) {
    const { namespace: theirs } = other.spec.providerRef;
    problems.push(
      `The provider of the cluster was in namespace ${theirs}: set POD_NAMESPACE to it, and install it there.`,
    );
  }
  const identity = metadata;
  const foreign = objects.machines.filter((machine) => !isOfCluster(machine, identity));
  if (foreign.length > 0) problems.push(`Machine ${foreign[0]?.metadata.name} of the file belongs to another cluster.`);
  return problems;
};

/** What is marked with another identity would no longer be recognised. */
const checkInstallation: Check = async ({ kube, signal }, { objects }, { id, isImported }) => {
  if (id === objects.installation) return [];
  if (isImported)
    return [
      `This platform cluster has taken the place of the one with UID ${id}, and the cluster was on the one with UID ${objects.installation}. Import it elsewhere.`,
    ];
  const [first] = (await kube.list(Machine, {}, signal)).items;
  return first
    ? [
        `This platform cluster has Machines of its own (${first.metadata.name}), whose resources are marked with its UID. Import into one without Machines.`,
      ]
    : [];
};

/** A running provider would act on what is half imported. */
const checkProvider: Check = async ({ kube, namespace, clock, signal }, { objects }) => {
  const names = new Set(
    objects.machines.map(({ spec: { providerRef } }) => leaseName(providerRef.environment, providerRef.name)),
  );
  const problems: string[] = [];
  for (const name of names) {
    const { spec } = (await kube.find(Lease, { namespace, name }, signal)) ?? {};
    const endsAt = new Date(spec?.renewTime ?? 0).getTime() + (spec?.leaseDurationSeconds ?? 0) * 1000;
    if (spec?.holderIdentity && endsAt > clock.now().getTime())
      problems.push(`The provider runs (Lease ${name}, held by ${spec.holderIdentity}). Stop it first.`);
  }
  return problems;
};

const checkCluster: Check = async ({ kube, namespace, signal }, { objects, secrets }) => {
  const { metadata } = objects.cluster;
  const key = { namespace: metadata.namespace, name: metadata.name };
  const present = await kube.find(Cluster, key, signal);
  const identity = present && clusterIdentityOf(present);
  const problems: string[] = [];
  if (present?.metadata.deletionTimestamp) problems.push(`Cluster ${key.namespace}/${key.name} is being deleted.`);
  if (present?.status && identity?.uid !== metadata.uid)
    problems.push(
      `Cluster ${key.namespace}/${key.name} exists and the provider has seen it: it is another one than that of the backup. Delete it first.`,
    );
  for (const secret of secrets) {
    const { name } = secret.metadata;
    const found = await kube.find(Secret, { namespace, name }, signal);
    if (found && JSON.stringify(sorted(found.data)) !== JSON.stringify(sorted(secret.data)))
      problems.push(`Secret ${namespace}/${name} exists with another content. Delete it if nothing uses it.`);
  }
  return problems;
};

const sorted = (data: Record<string, string> | undefined) => Object.entries(data ?? {}).sort();

const checkMachines: Check = async ({ kube, signal }, { objects }) => {
  const { metadata } = objects.cluster;
  const problems: string[] = [];
  for (const [type, wanted] of [
    [Machine, objects.machines],
    [NodePool, objects.nodePools],
  ] as const)
    for (const {
      metadata: { name },
    } of wanted) {
      const found = await kube.find<Machine | NodePool>(type as typeof Machine, { name }, signal);
      if (found && !isOfCluster(found, metadata))
        problems.push(`${type.kind} ${name} exists and belongs to another Cluster. Delete that Cluster first.`);
    }
  return problems;
};

const checkHosts: Check = async ({ kube, signal }, { objects }) => {
  const problems: string[] = [];
  for (const {
    metadata: { name },
    spec,
    status,
  } of objects.hosts) {
    const found = await kube.find(Host, { name }, signal);
    if (found && found.spec.serverID !== spec.serverID)
      problems.push(`Host ${name} exists with serverID ${found.spec.serverID} instead of ${spec.serverID}.`);
    const holder = found?.status?.machineRef?.name;
    if (holder !== undefined && holder !== status.machineRef?.name)
      problems.push(`Host ${name} is held by Machine ${holder} instead of ${status.machineRef?.name}.`);
  }
  return problems;
};

const checkAddresses: Check = async ({ kube, namespace, signal }, { objects }) => {
  const problems: string[] = [];
  for (const {
    metadata: { name },
    spec,
  } of objects.addresses) {
    const found = await kube.find(Lease, { namespace, name }, signal);
    if (found && found.spec?.holderIdentity !== spec.holderIdentity)
      problems.push(`Lease ${namespace}/${name}: the address is claimed by ${found.spec?.holderIdentity}.`);
  }
  return problems;
};
