import type { TargetCluster } from '../access-request/find-target-cluster.ts';
import type { Services } from '../shared/services.ts';
import type { PublicationProblem } from './decide-form.ts';
import type { Publication } from './publication.ts';

/** Placeholder until ClusterProfiles are published. */
export async function ensureInventoryProfile(
  _services: Services,
  _publication: Publication,
  _target: TargetCluster,
  _signal: AbortSignal,
): Promise<PublicationProblem | undefined> {
  return undefined;
}
