import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { fleetName } from '../../api/names.ts';
import type { FormResult, PublicationProblem } from './decide-form.ts';
import { type Publication, publishedSecretName } from './publication.ts';

/** What has become of one form. */
export interface FormOutcome {
  readonly publication: Publication;
  readonly result: FormResult;
  readonly wasPublished: boolean;
}

/** A published form stays published while the cluster does not answer: its consumers see that for themselves. */
export const isPublished = ({ result, wasPublished }: FormOutcome): boolean =>
  result.kind === 'published' || (result.kind === 'waiting' && wasPublished);

/** The condition `Published`. `withdrawing`: why something that is not asked for any more is still there. */
export function describePublication(
  cluster: ClusterIdentity,
  outcomes: readonly FormOutcome[],
  withdrawing: PublicationProblem | undefined,
): ConditionState | undefined {
  const [failed] = outcomes.filter((outcome) => !isPublished(outcome));
  if (failed && failed.result.kind !== 'published') {
    const { reason, message } = failed.result.problem;
    return conditionFalse('Published', reason, message);
  }
  if (withdrawing) return conditionFalse('Published', withdrawing.reason, withdrawing.message);
  if (outcomes.length === 0) return undefined;
  const where = outcomes.map(({ publication }) => describeObjects(publication));
  return conditionTrue('Published', `As ${fleetName(cluster)}: ${where.join(', ')}.`);
}

function describeObjects({ form, namespace, cluster }: Publication): string {
  const secret = `Secret ${namespace}/${publishedSecretName(form, cluster)}`;
  if (form === 'argoCD') return `Argo CD ${secret}`;
  return form === 'clusterProfile' ? `ClusterProfile ${namespace}/${fleetName(cluster)}` : secret;
}
