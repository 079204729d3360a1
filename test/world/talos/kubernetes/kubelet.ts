import { request } from 'node:https';
import { isIP } from 'node:net';
import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { canonicalJson } from '../../kube/json.ts';
import { acceptedKubernetesCas } from '../certificates/accepted-authorities.ts';
import { listAt, textAt } from '../config/fields.ts';
import { awaitImage } from '../images/pull-image.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { componentImage } from './component-image.ts';
import { findSettingProblem } from './component-settings.ts';
import { liftCordon } from './cordon.ts';
import { endpointHost, readEphemeral, type SimulatedEtcdCluster, writeEphemeral } from './etcd.ts';
import { followConfig } from './follow-config.ts';
import { restartReports, runHeartbeat, suspendReports } from './heartbeat.ts';
import { kubeletNodeIps, putNodeObject, updateNodeMetadata } from './node-and-pod-objects.ts';
import { setNodeReady } from './node-conditions.ts';
import { podsInStore, runPods } from './run-pods.ts';
import { markStaticPodsReady } from './static-pods.ts';

/**
 * The service `kubelet`: it runs once its image is there, and is made anew when its part of the configuration changes. A
 * missing image keeps it in `Preparing` (talos: controllers/k8s/kubelet_service.go).
 */
export async function runKubelet(node: TalosNode): Promise<void> {
  const { services } = node;
  services.set('kubelet', 'Preparing', 'Running pre state');
  while (!node.timeInSync) await node.sleep(timings.poll);
  await awaitNodeAddress(node);
  let isRegistered = false;
  for (;;) {
    const spec = publishKubeletSpec(node);
    services.set('kubelet', 'Preparing', 'Running pre state');
    await awaitImage(node, 'cri/system', () => componentImage(node, 'kubelet'));
    if (isRegistered) await node.sleep(timings.kubeletRestart);
    const problem = findSettingProblem(node.config?.view.kubernetes.kubelet.args ?? {});
    if (problem !== undefined) {
      await restartForEver(node, problem, () => publishKubeletSpec(node) === spec);
      continue;
    }
    services.set('kubelet', 'Running', 'Health check successful', true);
    if (isRegistered) restartReports(node);
    else node.spawn('kubelet registration', () => registerNode(node));
    isRegistered = true;
    while (publishKubeletSpec(node) === spec) await followConfig(node);
    suspendReports(node);
    services.set('kubelet', 'Finished', 'Service finished successfully');
  }
}

/** Publishes what the kubelet starts with, and returns it in one text. */
function publishKubeletSpec(node: TalosNode): string {
  const { args, extraConfig, validSubnets } = node.config?.view.kubernetes.kubelet ?? {};
  const spec = { image: componentImage(node, 'kubelet'), args, extraConfig, validSubnets };
  node.resources.put('k8s', 'KubeletSpecs.kubernetes.talos.dev', 'kubelet', spec);
  // The files of its authorities are no part of the resource.
  return canonicalJson([spec, acceptedKubernetesCas(node)]);
}

/** The service of a process that ends as soon as it is started, while it `isWanted`. */
async function restartForEver(node: TalosNode, problem: string, isWanted: () => boolean): Promise<void> {
  node.log(`kubelet: ${problem}`);
  while (isWanted()) {
    node.services.set('kubelet', 'Running', 'Started task kubelet');
    await node.sleep(1);
    const message = 'Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 1';
    node.services.set('kubelet', 'Waiting', message);
    await node.sleep(timings.serviceRestart);
  }
}

/**
 * Finds an API server that it trusts and that authenticates it, registers the Node, and reports it ready once the network
 * works.
 */
async function registerNode(node: TalosNode): Promise<void> {
  if (node.config?.view.kubernetes.kubelet.skipRegistration) return;
  const cluster = await findApiServer(node);
  const isKnown = readEphemeral(node).kubelet !== undefined;
  await node.sleep(isKnown ? timings.kubeletAgain : timings.kubelet);
  putNodeObject(node, cluster.store);
  // After a restart they run before the kubelet reports, and the silence in between has marked them.
  markStaticPodsReady(node, cluster.store);
  liftCordon(node);
  node.registered = true;
  node.onConfig(() => updateNodeMetadata(node, cluster.store));
  node.log(`kubelet: registered node ${node.nodename}`);
  writeEphemeral(node, { ...readEphemeral(node), kubelet: { cluster: cluster.uid, node: node.nodename } });
  runHeartbeat(node, cluster);
  watchNode(node, cluster);
  const { workload } = node.world;
  runPods(node, workload.pods?.(node, cluster) ?? podsInStore(cluster.store, node.nodename));
  while (!hasNetworkPlugin(node, cluster)) await node.sleep(timings.poll);
  await node.sleep(isKnown ? timings.nodeReadyAgain : timings.nodeReady);
  // A kubelet that is ending its pods never becomes ready again.
  if (!node.running) setNodeReady(cluster.store, node.nodename, 'True');
}

/** Where every network plugin puts its configuration, which the kubelet waits for. */
const pluginFolder = '/etc/cni/net.d';

/** A Node is not ready before. A plugin that Talos does not install is a DaemonSet that users create. */
function hasNetworkPlugin(node: TalosNode, { store }: SimulatedEtcdCluster): boolean {
  if (node.config?.view.kubernetes.cni !== 'none') return hasEveryFamily(node);
  return store
    .list({ apiVersion: 'apps/v1', kind: 'DaemonSet' })
    .some(({ spec }) =>
      listAt(spec, 'template.spec.volumes').some((volume) => textAt(volume, 'hostPath.path') === pluginFolder),
    );
}

/** Flannel ends on a node without an address of a family of Pods. */
function hasEveryFamily(node: TalosNode): boolean {
  const families = new Set(kubeletNodeIps(node).map(isIP));
  const { podSubnets = [] } = node.config?.view.kubernetes ?? {};
  return podSubnets.every((subnet) => families.has(isIP(subnet.split('/')[0] ?? '')));
}

/**
 * A kubelet with `validSubnets` does not start on a node without an address in them (talos:
 * controllers/k8s/node_ip.go).
 */
async function awaitNodeAddress(node: TalosNode): Promise<void> {
  const unmet = (): boolean => kubeletNodeIps(node).length === 0;
  if (!unmet()) return;
  node.log('kubelet: waiting for node IPs');
  while (unmet()) await node.sleep(timings.poll);
}

/** The Node object is authoritative for readiness; after its deletion it is not recreated before the next boot. */
function watchNode(node: TalosNode, cluster: SimulatedEtcdCluster): void {
  const look = () => {
    const object = cluster.store.get({ apiVersion: 'v1', kind: 'Node', name: node.nodename });
    const status = object?.['status'] as { conditions?: { type: string; status: string }[] } | undefined;
    node.nodeReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
    node.publishKubernetes(object);
    node.refreshStatus();
  };
  look();
  node.onClose(
    cluster.store.onChange((change) => {
      if (change.object.kind === 'Node' && change.object.metadata.name === node.nodename) look();
    }),
  );
}

async function findApiServer(node: TalosNode): Promise<SimulatedEtcdCluster> {
  let last = '';
  for (;;) {
    for (const place of apiServerEndpoints(node)) {
      const problem = await probeApiServer(node, place);
      const cluster = node.world.apiServers.get(place) ?? node.world.vips.get(endpointHost(`https://${place}`));
      if (problem === undefined && cluster) return cluster;
      if (problem !== undefined && problem !== last) node.log(`kubelet: ${place}: ${problem}`);
      last = problem ?? '';
    }
    await node.sleep(timings.poll);
  }
}

/** KubePrism on a control plane prefers the local API server, then the cluster endpoint. */
function apiServerEndpoints(node: TalosNode): string[] {
  const view = node.config?.view;
  if (!view) return [];
  const own = node.isControlPlane ? node.addresses.map((address) => toAuthority(address, view.kubernetes.apiPort)) : [];
  const url = URL.canParse(view.endpoint) ? new URL(view.endpoint) : undefined;
  return [...own, ...(url ? [toAuthority(endpointHost(view.endpoint), Number(url.port || '443'))] : [])];
}

/** One real request with the bootstrap token, or its error. */
function probeApiServer(node: TalosNode, place: string): Promise<string | undefined> {
  const view = node.config?.view;
  const { port } = new URL(`https://${place}`);
  const token = view?.kubernetes.bootstrapToken ?? '';
  const known = readEphemeral(node).kubelet !== undefined;
  return new Promise((resolve) => {
    const call = request(
      {
        host: endpointHost(`https://${place}`),
        port: Number(port || '443'),
        path: '/api',
        ca: acceptedKubernetesCas(node),
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.any([node.signal, AbortSignal.timeout(5000)]),
        agent: false,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 401 && !known ? 'Unauthorized' : undefined);
      },
    );
    call.on('error', (error) => resolve(error.message));
    call.end();
  });
}
