import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import { type Cluster, openmcpPhases } from '../../api/openmcp/types.ts';
import { clusterIdentityOf } from '../../controllers/cluster/identity.ts';
import type { FleetSamples } from '../../server/fleet-metrics.ts';
import { assessCluster, type ClusterAssessment, findHealthStart } from '../views/cluster-health.ts';
import { groupMachines } from '../views/cluster-rows.ts';
import type { FleetObjects } from '../views/status-sources.ts';
import { Tally } from './tally.ts';

const phases: ReadonlySet<string> = new Set(Object.values(openmcpPhases));

/** The Clusters by phase, and by health with the one that has it for longest. */
export function listClusterSamples(
  { clusters, machines, byProfile }: FleetObjects,
  now: Date,
): Pick<FleetSamples, 'clusters' | 'cluster_health' | 'cluster_health_longest_seconds'> {
  const byPhase = new Tally<'provider_config' | 'phase'>();
  const byHealth = new Tally<'provider_config' | 'health'>();
  const longest = new Tally<'provider_config' | 'health'>();
  const byCluster = groupMachines(machines);
  for (const cluster of clusters) {
    const provider_config = byProfile.get(cluster.spec.profile)?.metadata.name ?? '';
    const { phase = '' } = cluster.status ?? {};
    byPhase.add({ provider_config, phase: phases.has(phase) ? phase : openmcpPhases.pending });
    const assessment = assessCluster(cluster, byCluster.get(clusterIdentityKey(clusterIdentityOf(cluster))) ?? []);
    const { health } = assessment;
    byHealth.add({ provider_config, health });
    if (health !== 'ready') longest.raise({ provider_config, health }, secondsInHealth(cluster, assessment, now));
  }
  return {
    clusters: byPhase.samples,
    cluster_health: byHealth.samples,
    cluster_health_longest_seconds: longest.samples,
  };
}

function secondsInHealth(cluster: Cluster, assessment: ClusterAssessment, now: Date): number {
  // The cause of a creation that takes long changes with each step.
  const since =
    assessment.health === 'creating' ? cluster.metadata.creationTimestamp : findHealthStart(cluster, assessment.cause);
  return ageInSeconds(since, now);
}

/** Zero without a time. */
export const ageInSeconds = (since: string | undefined, now: Date): number => {
  const seconds = (now.getTime() - Date.parse(since ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
};
