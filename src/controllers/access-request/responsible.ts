import { openmcp } from '../../api/names.ts';
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
