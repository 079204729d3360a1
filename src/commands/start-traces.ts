import { externalEndpointUrl, openmcpPhases } from '../api/openmcp/types.ts';
import { clusterIdentityOf } from '../controllers/cluster/identity.ts';
import type { Stores } from '../controllers/shared/services.ts';
import type { Clock } from '../lib/clock.ts';
import { withDeadline } from '../lib/deadline.ts';
import type { CallObserver } from '../lib/observers.ts';
import type { TracedCluster, WorkTracer } from '../lib/work-tracer.ts';
import type { RunOptions } from './flags/operator-settings.ts';

export interface RunningTraces {
  readonly tracer: WorkTracer;
  readonly call: CallObserver;
  close(): Promise<void>;
}

const closeSeconds = 5;

/** Follows Clusters until they are ready for the first time. The exporter is loaded only if an endpoint is configured. */
export async function startTraces(
  { otlpEndpoint: endpoint, providerName: provider, release }: RunOptions,
  stores: Stores,
  clock: Clock,
): Promise<RunningTraces | undefined> {
  if (endpoint === undefined) return undefined;
  const [{ CreationTraces }, { exportTraces }] = await Promise.all([
    import('../tracing/creation-traces.ts'),
    import('../tracing/otlp-exporter.ts'),
  ]);
  const exporter = exportTraces({ endpoint, provider, version: release ?? '' });
  /** UIDs of Clusters that this process works on, and that have not been ready yet. */
  const creating = new Set<string>();
  const isCreating = ({ uid, ...key }: TracedCluster): boolean => {
    if (uid === undefined || creating.has(uid)) return uid !== undefined;
    const cluster = stores.clusters.get(key);
    const isNew = cluster?.metadata.uid === uid && externalEndpointUrl(cluster) === undefined;
    if (isNew && !cluster.metadata.deletionTimestamp) creating.add(uid);
    return creating.has(uid);
  };
  const traces = new CreationTraces(exporter.tracer, clock, isCreating);
  const unsubscribe = stores.clusters.onChange(({ kind, object }) => {
    const { uid = '', creationTimestamp, deletionTimestamp } = object.metadata;
    if (!creating.has(uid)) return;
    const isReady = object.status?.phase === openmcpPhases.ready;
    if (isReady && kind === 'updated')
      traces.ready(clusterIdentityOf(object), new Date(creationTimestamp ?? clock.now()));
    if (isReady || kind === 'deleted' || deletionTimestamp) creating.delete(uid);
  });
  const close = async (): Promise<void> => {
    unsubscribe();
    await withDeadline(closeSeconds, new AbortController().signal, async () => await exporter.close());
  };
  return { tracer: traces, call: (call) => traces.call(call), close };
}
