import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { ControlPlaneCandidate } from '../../engine/capabilities/endpoint.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { choosePlatform } from '../shared/spec/choose-platform.ts';
import type { ClusterView } from './view.ts';

/**
 * Routes an externally managed endpoint address (failover IP) to a control plane that is healthy. Returns a sentence about
 * the failover in progress or its obstacle; undefined if nothing has to be done.
 */
export async function failOverClusterEndpoint(
  services: Services,
  view: ClusterView,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Log },
): Promise<string | undefined> {
  const chosen = view.spec && choosePlatform(services.platforms, view.spec);
  const isLed = typeof view.addressing?.endpoint === 'object';
  if (!chosen?.platform.endpoint || !isLed) return undefined;
  const credentials = findPlatformCredentials(services, chosen.platform, chosen.config);
  if ('missing' in credentials) return credentials.missing;
  const { connections, clock, hosts } = services;
  try {
    return await chosen.platform.endpoint.failOver({
      ...{ config: chosen.config, credentials: credentials.secrets, connections, log, clock, signal },
      controlPlanes: listFailoverCandidates(view),
      hostedServers: () => hosts.servers(chosen.platform.name),
    });
  } catch (error) {
    if (error instanceof ProviderError) return error.message;
    throw error;
  }
}

/**
 * While no control plane is ready, control planes that run their installed system are candidates. The bootstrapped one
 * comes first.
 */
function listFailoverCandidates({ machines, secrets }: ClusterView): ControlPlaneCandidate[] {
  const controlPlanes = machines.filter(
    ({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp,
  );
  const anyReady = controlPlanes.some(isReady);
  const isFirst = ({ metadata }: Machine): boolean => metadata.name === secrets?.bootstrapMachine;
  return [...controlPlanes.filter(isFirst), ...controlPlanes.filter((machine) => !isFirst(machine))].map((machine) => ({
    // Only this provider writes facts.
    facts: (machine.status?.progress?.facts ?? {}) as Facts,
    isHealthy: anyReady ? isReady(machine) : isConditionTrue(machine.status?.conditions, 'Provisioned'),
  }));
}

const isReady = ({ status }: Machine): boolean => isConditionTrue(status?.conditions, 'Ready');
