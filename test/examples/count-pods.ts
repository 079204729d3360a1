/**
 * A controller for a fleet, as an example: it keeps the number of Pods that run in each cluster in a ConfigMap beside the
 * Secret of the cluster.
 *
 *     npx tsx test/examples/count-pods.ts KUBECONFIG NAMESPACE
 *
 * The namespace has the Secrets with the kubeconfigs, as `spec.publish` of a ProviderConfig writes them.
 */
import { pathToFileURL } from 'node:url';
import { Fleet } from '../../src/fleet/fleet.ts';
import { FleetCache } from '../../src/fleet/fleet-cache.ts';
import type { FleetCluster } from '../../src/fleet/fleet-cluster.ts';
import { followSecrets } from '../../src/fleet/secret-inventory.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { type ApiServerConnection, loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { targetClusterLimits } from '../../src/kube/transport/response-limits.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string };
}
const core = { group: '', version: 'v1', namespaced: true };
const Pod: ResourceType<Pod> = { ...core, kind: 'Pod', plural: 'pods' };
const ConfigMap: ResourceType<KubeObject & { data?: Record<string, string> }> = {
  ...{ ...core, kind: 'ConfigMap', plural: 'configmaps' },
};

/** Clusters are others' servers: their responses are limited. */
const open = (connection: ApiServerConnection) =>
  new KubeClient(new Transport(connection, { limits: targetClusterLimits }), { fieldManager: 'count-pods' });

/** Runs until the signal aborts. */
export function countPods(hub: KubeClient, namespace: string, signal: AbortSignal): Fleet {
  const pods = new FleetCache(Pod, { maxObjects: 10_000 });
  pods.addIndex('phase', ({ status }) => [status?.phase ?? 'Unknown']);
  const write = async (cluster: FleetCluster): Promise<void> => {
    const running = pods.of(cluster).by('phase', 'Running').length;
    const metadata = { namespace, name: `pods-of-${cluster.name}` };
    await hub.apply(ConfigMap, { metadata, data: { running: String(running) } }, { force: true }, cluster.signal);
  };
  pods.onChange((cluster) => {
    if (pods.of(cluster).isSynced) cluster.track(write(cluster));
  });
  const fleet = new Fleet({ clock: systemClock, log: noLog, openClient: open, caches: [pods], consumers: [write] });
  void followSecrets(fleet, { client: hub, namespace, clock: systemClock, log: noLog, signal });
  signal.addEventListener('abort', () => void fleet.stop());
  return fleet;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [path = '', namespace = ''] = process.argv.slice(2);
  const end = new AbortController();
  process.once('SIGINT', () => end.abort());
  const fleet = countPods(open(loadApiServerConnection({ path })), namespace, end.signal);
  const report = setInterval(() => console.log(fleet.names().join(' ')), 5000);
  end.signal.addEventListener('abort', () => clearInterval(report));
}
