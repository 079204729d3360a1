import { canonicalJson } from '../../kube/json.ts';
import type { ApiObject, KubeStore } from '../../kube/storage/store.ts';
import { acceptedKubernetesCas } from '../certificates/accepted-authorities.ts';
import { awaitImage } from '../images/pull-image.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { componentImage } from './component-image.ts';
import { findSettingProblem } from './component-settings.ts';
import { pollOrFollowConfig } from './follow-config.ts';
import { kubeletNodeIps } from './node-and-pod-objects.ts';

const components = [
  ['kube-controller-manager', 'controllerManager', 'ControllerManagerConfigs.kubernetes.talos.dev'],
  ['kube-scheduler', 'scheduler', 'SchedulerConfigs.kubernetes.talos.dev'],
] as const;

/** The static pods besides kube-apiserver: each starts with the first API server, and is restarted when its part changes. */
export function runStaticPods(node: TalosNode): void {
  for (const component of components) node.spawn(component[0], () => runStaticPod(node, component));
}

async function runStaticPod(node: TalosNode, [name, component, type]: (typeof components)[number]): Promise<void> {
  let isFirst = true;
  for (;;) {
    const image = componentImage(node, component);
    const spec = staticPodSpec(node, component);
    const extraArgs = node.config?.view.kubernetes.componentArgs[component] ?? {};
    const { version } = node.resources.put('controlplane', type, name, { image, extraArgs });
    const flags = Object.entries(extraArgs).flatMap(([flag, values]) => values.map((value) => `--${flag}=${value}`));
    const pod = { name, image, annotations: { 'talos.dev/config-version': String(version) } };
    putStaticPod(node, pod, [`/usr/local/bin/${name}`, ...flags]);
    if (!isFirst) putMirrorPod(node, { ...pod, ready: false });
    if ((await awaitImage(node, 'cri/k8s.io', () => componentImage(node, component))) !== image) continue;
    while (isFirst && !node.apiServer) await node.sleep(timings.poll);
    if (!isFirst) await node.sleep(timings.staticPod);
    const problem = findSettingProblem(extraArgs);
    if (problem !== undefined) node.log(`${name}: ${problem}`);
    putMirrorPod(node, { ...pod, ready: problem === undefined });
    isFirst = false;
    while (staticPodSpec(node, component) === spec) await pollOrFollowConfig(node);
  }
}

const staticPodSpec = (node: TalosNode, component: 'controllerManager' | 'scheduler'): string =>
  canonicalJson([
    componentImage(node, component),
    node.config?.view.kubernetes.componentArgs[component],
    acceptedKubernetesCas(node),
  ]);

/** The Pod that Talos gives to the kubelet. */
export function putStaticPod(node: TalosNode, pod: Omit<MirrorPod, 'ready'>, command: readonly string[]): void {
  const { name, image, annotations } = pod;
  node.resources.put('k8s', 'StaticPods.kubernetes.talos.dev', name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system', annotations },
    spec: { containers: [{ name, image, command }] },
  });
}

/** The kubelet's view of a static pod. */
export interface MirrorPod {
  readonly name: string;
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ready: boolean;
}

/**
 * Writes a mirror Pod to the cluster, and its state to the node's own resources. It is removed by a deletion through the
 * API, not with the machine.
 */
export function putMirrorPod(node: TalosNode, pod: MirrorPod): void {
  const store = node.etcd?.cluster.store;
  const name = `${pod.name}-${node.nodename}`;
  const old = store?.get({ apiVersion: 'v1', kind: 'Pod', namespace: 'kube-system', name });
  store?.put(staticPod(node, pod, name, old));
  const ready = { type: 'Ready', status: pod.ready ? 'True' : 'False' };
  const status = { phase: pod.ready ? 'Running' : 'Pending', conditions: [ready] };
  node.resources.put('k8s', 'StaticPodStatuses.kubernetes.talos.dev', `kube-system/${name}`, status);
  node.refreshStatus();
}

/** The first report of a kubelet: the static pods that run are ready, whatever was concluded from its silence. */
export function markStaticPodsReady(node: TalosNode, store: KubeStore): void {
  for (const { id, spec } of node.resources.list('k8s', 'StaticPodStatuses.kubernetes.talos.dev')) {
    const [namespace = '', name = ''] = id.split('/');
    const { phase, conditions } = spec as { phase: string; conditions: unknown };
    const pod = store.get({ apiVersion: 'v1', kind: 'Pod', namespace, name });
    if (pod && phase === 'Running') store.put({ ...pod, status: { ...(pod['status'] as object), conditions } });
  }
}

function staticPod(
  node: TalosNode,
  { name, image, annotations, ready }: MirrorPod,
  podName: string,
  old: ApiObject | undefined,
): ApiObject {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...old?.metadata,
      name: podName,
      namespace: 'kube-system',
      labels: { tier: 'control-plane', 'k8s-app': name, component: name },
      annotations: {
        ...annotations,
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.mirror': 'world',
      },
    },
    spec: {
      nodeName: node.nodename,
      hostNetwork: true,
      priorityClassName: 'system-cluster-critical',
      containers: [{ name, image }],
    },
    status: {
      phase: ready ? 'Running' : 'Pending',
      hostIP: kubeletNodeIps(node)[0],
      podIP: kubeletNodeIps(node)[0],
      startTime: now,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: now }],
      containerStatuses: [
        {
          name,
          image,
          imageID: image,
          ready,
          restartCount: 0,
          started: ready,
          state: ready ? { running: { startedAt: now } } : { waiting: { reason: 'ContainerCreating' } },
        },
      ],
    },
  };
}
