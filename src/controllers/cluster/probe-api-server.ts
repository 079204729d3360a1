import semver from 'semver';
import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Namespace } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Services } from '../shared/services.ts';
import { failOverClusterEndpoint } from './endpoint-failover.ts';
import type { ApiServerProbe, ClusterView } from './view.ts';

/** Reconciles follow each other within seconds while nodes change. */
const proofSeconds = 15;
const maxProofs = 1000;

interface ProbeContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** A user asks for this reconcile. */
  readonly isRequested?: boolean;
}

interface Proof {
  readonly probe: ApiServerProbe;
  readonly client: KubeClient;
  /** The versions of the API servers as their nodes had reported them. */
  readonly versions: string;
  readonly at: number;
}

const proofsOf = new WeakMap<Services['nodes'], LruMap<string, Proof>>();

/**
 * Sends a request with administrator rights to the API server. An answer counts for a few seconds, as long as the watch of
 * the Nodes stays open, which ends with the API server, no API server has changed its version, and no user asks for a
 * reconcile.
 */
export async function probeApiServer(
  services: Services,
  view: ClusterView,
  context: ProbeContext,
): Promise<ApiServerProbe> {
  const url = view.endpoint?.url;
  if (url === undefined) return { ok: false, message: 'The endpoint is not known yet.' };
  try {
    const client = await services.targets.client(view.ref, url);
    const proofs = proofsOf.get(services.nodes) ?? new LruMap<string, Proof>(maxProofs);
    proofsOf.set(services.nodes, proofs);
    const key = clusterIdentityKey(view.ref);
    const versions = versionsOf(view);
    const known = proofs.get(key);
    const at = services.clock.monotonic();
    const isFresh = known?.client === client && known.versions === versions && at - known.at < proofSeconds * 1000;
    if (isFresh && !context.isRequested && services.nodes.isConnected(view.ref)) return known.probe;
    await client.get(Namespace, { name: 'kube-system' }, context.signal);
    const answer = await client.raw<{ gitVersion?: unknown } | null>('GET', '/version', undefined, context.signal);
    const version = String(answer?.gitVersion ?? '');
    if (semver.valid(version) === null) return { ok: false, message: `${url} does not report a Kubernetes version.` };
    await services.nodes.watch(view.ref, client, context.signal);
    const probe: ApiServerProbe = { ok: true, version: version.replace(/^v/, '') };
    proofs.set(key, { probe, client, versions, at });
    return probe;
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
    const message = `${url} does not answer yet: ${withFullStop(error.message)}`;
    const led = await failOverClusterEndpoint(services, view, context);
    return { ok: false, message: led === undefined ? message : `${message} ${led}` };
  }
}

/** Messages of other systems may lack a full stop. */
const withFullStop = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);

const versionsOf = ({ machines }: ClusterView): string =>
  machines.map(({ status }) => status?.applied?.components?.apiServer ?? '').join(' ');
