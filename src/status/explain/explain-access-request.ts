import { isConditionTrue } from '../../api/conditions.ts';
import type { AccessRequest } from '../../api/openmcp/types.ts';
import {
  type ExplanationJson,
  type FindingJson,
  findCause,
  guideOf,
  guideToSilence,
  type ObjectJson,
  readyCondition,
  toFinding,
} from './explanation.ts';
import { nextStepFor } from './next-steps.ts';

/** What an AccessRequest waits for. `cluster` explains the Cluster that it names; undefined if there is none. */
export function explainAccessRequest(request: AccessRequest, cluster: ExplanationJson | undefined): ExplanationJson {
  const { metadata, status } = request;
  const { namespace, name } = metadata;
  const object: ObjectJson = { kind: 'AccessRequest', ...(namespace ? { namespace } : {}), name };
  const about = { object, is: describeRequest(request) };
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0)
    return {
      ...{ ...about, state: 'not answered yet', isReady: false, findings: [], guide: guideToSilence },
      ...(metadata.creationTimestamp ? { since: metadata.creationTimestamp } : {}),
      nextStep: 'Check that the openMCP operator runs: it assigns the request to a provider.',
    };
  const isReady = isConditionTrue(conditions, 'Ready') && !metadata.deletionTimestamp;
  const condition = findCause(conditions);
  const own = condition ? [toFinding(object, condition)] : [];
  const findings = [...own, ...findingsInCluster(own[0], cluster)];
  const cause = findings.at(-1);
  const since = metadata.deletionTimestamp ?? readyCondition(conditions)?.lastTransitionTime;
  return {
    ...about,
    state: metadata.deletionTimestamp ? 'being revoked' : isReady ? 'granted' : 'not granted yet',
    isReady,
    ...(since ? { since } : {}),
    findings,
    nextStep: cause ? nextStepFor(cause.reason) : 'Nothing.',
    ...(cause ? { guide: guideOf(cause.object.kind) } : {}),
  };
}

function describeRequest({ spec }: AccessRequest): string {
  const kind = spec.token ? 'with a token' : spec.oidc ? 'by OIDC' : 'of no kind';
  const { clusterRef } = spec;
  return `a request for access ${kind}${clusterRef ? ` to Cluster ${clusterRef.namespace}/${clusterRef.name}` : ''}`;
}

/** What the Cluster waits for, if the request waits for the Cluster. */
const findingsInCluster = (
  own: FindingJson | undefined,
  cluster: ExplanationJson | undefined,
): readonly FindingJson[] => {
  const isWaiting = own?.reason === 'WaitingForCluster' || own?.reason === 'WaitingForTrust';
  return isWaiting && cluster ? cluster.findings : [];
};
