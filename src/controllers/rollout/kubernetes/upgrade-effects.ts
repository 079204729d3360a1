import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import { isConflict, KubeError } from '../../../kube/errors.ts';
import type { KubeObject } from '../../../kube/resource.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { createMergePatch } from '../../../lib/merge-patch.ts';
import { isAtLeastMinor } from '../../../talos/versions.ts';
import { readMachineFact } from '../../shared/machine-facts.ts';
import { withClusterRecord } from '../../shared/secrets/cluster-record.ts';
import { annotateClusterSecrets, type ClusterSecrets } from '../../shared/secrets/cluster-secrets.ts';
import type { Services } from '../../shared/services.ts';
import { listOutdatedSpecs, type ManifestProgress } from './decide-upgrade.ts';
import { proxyVersionOf, readManifests } from './manifests/read-manifests.ts';
import { type SyncReport, syncManifests } from './manifests/sync-manifests.ts';
import type { KubernetesVersions } from './stages.ts';
import type { UpgradeHop } from './target-version.ts';
import { isControlPlane } from './versions.ts';

/**
 * Lets the Machines ask for other versions. One that has changed since it was read is written in the next reconcile, which
 * that change triggers. Returns the Machines after the writes, and whether any was written.
 */
export async function writeVersions(
  { kube }: Pick<Services, 'kube'>,
  machines: readonly Machine[],
  desired: (machine: Machine) => KubernetesVersions,
  signal: AbortSignal,
): Promise<{ readonly machines: readonly Machine[]; readonly isWritten: boolean }> {
  const written = new Map<string, Machine>();
  let isWritten = false;
  for (const machine of listOutdatedSpecs(machines, desired)) {
    const { name, resourceVersion } = machine.metadata;
    const { kubernetesVersion, components } = machine.spec;
    const wanted = desired(machine);
    const change = createMergePatch({ kubernetesVersion, components }, { ...wanted });
    const lock = resourceVersion ? { resourceVersion } : {};
    try {
      written.set(name, await kube.merge(Machine, { name }, { spec: change ?? {} }, lock, signal));
      isWritten = true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      const { components: _, ...spec } = machine.spec;
      written.set(name, { ...machine, spec: { ...spec, ...wanted } });
    }
  }
  return { machines: machines.map((machine) => written.get(machine.metadata.name) ?? machine), isWritten };
}

export interface ManifestTarget {
  readonly cluster: ClusterIdentity;
  readonly machines: readonly Machine[];
  /** URL of the API server. */
  readonly endpoint: string;
  readonly hop: UpgradeHop;
}

/** Brings the bootstrap manifests that the control planes render now to the cluster. */
export async function applyManifests(
  services: Services,
  target: ManifestTarget,
  signal: AbortSignal,
): Promise<{ readonly progress: ManifestProgress; readonly report?: SyncReport }> {
  const { cluster, machines, endpoint, hop } = target;
  try {
    const [objects = [], ...others] = await readAllManifests(services, target, signal);
    const proxy = proxyVersionOf(objects);
    if (objects.length === 0 || (proxy !== undefined && proxy !== hop.to))
      return { progress: { kind: 'waits', message: 'The control planes have not rendered them yet.' } };
    const client = await services.targets.client(cluster, endpoint);
    const hasInventory = machines.every((machine) => isAtLeastMinor(talosVersionOf(machine), '1.13'));
    const report = await syncManifests({ client, objects, others: others.flat(), hasInventory, signal });
    if (report.problems.length === 0) return { progress: { kind: 'applied' }, report };
    const message = `${report.problems.slice(0, maxProblems).join('. ')}. Correct them in the patches or in the cluster.`;
    return { progress: { kind: 'blocked', message }, report };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
    return { progress: { kind: 'waits', message: error.message } };
  }
}

const maxProblems = 5;

const talosVersionOf = ({ spec, status }: Machine): string => status?.applied?.talosVersion ?? spec.talosVersion;

/** What every control plane renders. An object is gone only when it is gone from all. */
async function readAllManifests(
  { targets }: Services,
  { cluster, machines }: ManifestTarget,
  signal: AbortSignal,
): Promise<KubeObject[][]> {
  const all: KubeObject[][] = [];
  for (const machine of machines.filter(isControlPlane)) {
    const node = targets.talos(cluster, readMachineFact(machine, 'address') ?? '');
    try {
      all.push(await readManifests(node, { signal }));
    } finally {
      await node.close();
    }
  }
  return all;
}

/** The version that new Machines get and that an upgrade begins with. The copy in the status of the Cluster follows. */
export async function recordVersion(
  { kube }: Pick<Services, 'kube'>,
  secrets: ClusterSecrets,
  version: string,
  signal: AbortSignal,
): Promise<ClusterSecrets> {
  const notes = { [annotations.kubernetesVersion]: version };
  return withClusterRecord(await annotateClusterSecrets(kube, secrets, notes, signal), secrets);
}
