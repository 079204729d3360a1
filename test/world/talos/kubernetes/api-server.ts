import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { canonicalJson } from '../../kube/json.ts';
import { pullQuietly } from '../images/pull-image.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import type { WorkloadApiServer } from '../workload/workload.ts';
import { putApiServerMirrorPod, renderApiServerPod } from './api-server-pod.ts';
import { componentImage } from './component-image.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';
import { pollOrFollowConfig } from './follow-config.ts';
import { watchRestoredNodes } from './heartbeat.ts';
import { publishManifests } from './manifests.ts';

/**
 * The inputs of the static pod of kube-apiserver: a change recreates the pod. Whether control planes are schedulable is
 * a matter of the taint of the node alone (talos: controllers/k8s/node_taint_spec.go).
 */
const apiServerSpec = (node: TalosNode): string => {
  const view = node.config?.view;
  const {
    kubelet: _kubelet,
    labels: _labels,
    annotations: _annotations,
    taints: _taints,
    images: _images,
    cni: _cni,
    componentArgs: _componentArgs,
    proxyDisabled: _proxyDisabled,
    schedulable: _schedulable,
    ...rest
  } = view?.kubernetes ?? {};
  return canonicalJson([rest, view?.endpoint, componentImage(node, 'apiServer')]);
};

/** Why the static pod must stop; undefined when it runs correctly. */
function stopReason({ spec, server }: RunningPod, wanted: string): string | undefined {
  if (server.ended !== undefined) return server.ended;
  return spec === wanted ? undefined : 'its configuration has changed';
}

interface RunningPod {
  readonly spec: string;
  readonly server: WorkloadApiServer;
  readonly retract: () => void;
}

/**
 * The static pod of kube-apiserver: it starts once etcd is healthy, with exactly the PKI and flags of the
 * configuration, and is restarted when they change or when it has ended. A failed start is retried with backoff.
 */
export async function runApiServer(node: TalosNode): Promise<void> {
  let running: RunningPod | undefined;
  let failures = 0;
  let published: TalosNode['config'];
  const stop = async (): Promise<void> => {
    running?.retract();
    await running?.server.close();
    running = undefined;
    node.apiServer = undefined;
  };
  node.onClose(stop);
  for (;;) {
    const spec = apiServerSpec(node);
    renderApiServerPod(node);
    if (running && node.etcd && node.config !== published) {
      published = node.config;
      publishManifests(node, node.etcd.cluster);
    }
    const reason = running && stopReason(running, spec);
    if (reason !== undefined) {
      putApiServerMirrorPod(node, false);
      node.log(`kube-apiserver: stopped: ${reason}`);
      await stop();
    }
    if (!running && node.etcd) {
      const { cluster } = node.etcd;
      await node.sleep(timings.apiServer + crashLoopSeconds(failures));
      const server = await startApiServer(node);
      failures = server ? 0 : failures + 1;
      if (server) {
        running = { spec, server, retract: registerApiServer(node, cluster) };
        node.apiServer = server;
        if (cluster.hasRestoredNodes) watchRestoredNodes(node.world, cluster);
        if (node.signal.aborted) return stop();
        putApiServerMirrorPod(node, true);
        node.world.changed();
      }
    }
    await pollOrFollowConfig(node);
  }
}

/** The kubelet's backoff after this many failures in a row (CrashLoopBackOff). */
const crashLoopSeconds = (failures: number): number => (failures === 0 ? 0 : Math.min(300, 10 * 2 ** (failures - 1)));

async function startApiServer(node: TalosNode): Promise<WorkloadApiServer | undefined> {
  const cluster = node.etcd?.cluster;
  if (!cluster) return undefined;
  const { signal } = node;
  try {
    await pullQuietly(node, { namespace: 'cri/k8s.io', reference: componentImage(node, 'apiServer'), signal });
    return await node.world.workload.start(node, cluster);
  } catch (error) {
    node.log(`kube-apiserver: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Routes requests to this node's addresses to this cluster until the returned function is called. */
function registerApiServer(node: TalosNode, cluster: SimulatedEtcdCluster): () => void {
  const places = node.addresses.map((host) => toAuthority(host, node.config?.view.kubernetes.apiPort ?? 6443));
  for (const place of places) node.world.apiServers.set(place, cluster);
  return () => {
    for (const place of places) node.world.apiServers.delete(place);
  };
}
