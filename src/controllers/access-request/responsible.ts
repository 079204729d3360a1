import { finalizers, openmcp } from '../../api/names.ts';
import { type AccessRequest, phases } from '../../api/openmcp.ts';

/**
 * The rule by which the openMCP operator hands a request to a provider: both labels, and a phase that is Pending, or
 * Granted for the current generation. Outside of it a request is not ours, not even in deletion.
 */
export function isResponsible(request: AccessRequest, provider: string): boolean {
  const { labels, generation } = request.metadata;
  if (labels?.[openmcp.provider] !== provider || labels[openmcp.profile] === undefined) return false;
  const phase = request.status?.phase;
  if (phase === phases.pending) return true;
  return phase === phases.granted && request.status?.observedGeneration === generation;
}

/**
 * Whether a request was ours and is not any more: it was denied, handed to another provider, or deleted in a phase that
 * is nobody's. What it was given goes, and it is let go; nothing else of it is touched. Not so between a change of its spec
 * and the operator's next word, when it is out of the rule for a moment.
 */
export function hasLeft(request: AccessRequest, provider: string): boolean {
  const { labels, finalizers: held, deletionTimestamp } = request.metadata;
  if (!held?.includes(finalizers.accessRequest) || isResponsible(request, provider)) return false;
  const isElsewhere = labels?.[openmcp.provider] !== provider;
  return isElsewhere || request.status?.phase === phases.denied || deletionTimestamp !== undefined;
}
