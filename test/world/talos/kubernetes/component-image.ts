import { imageVersionOf, type KubernetesView } from '../config/config-view.ts';
import type { TalosNode } from '../node.ts';

/** Default Kubernetes version of each Talos minor, for images that the configuration omits. */
const defaultKubernetes: Readonly<Record<number, string>> = {
  11: '1.34.1',
  12: '1.35.4',
  13: '1.36.3',
  14: '1.37.0-rc.0',
};

export type KubernetesComponent = keyof KubernetesView['images'];

const repositories: Readonly<Record<KubernetesComponent, string>> = {
  kubelet: 'ghcr.io/siderolabs/kubelet',
  apiServer: 'registry.k8s.io/kube-apiserver',
  controllerManager: 'registry.k8s.io/kube-controller-manager',
  scheduler: 'registry.k8s.io/kube-scheduler',
  proxy: 'registry.k8s.io/kube-proxy',
};

/** The image of a component on this node. */
export const componentImage = (node: TalosNode, component: KubernetesComponent): string =>
  node.config?.view.kubernetes.images[component] ||
  `${repositories[component]}:v${defaultKubernetes[node.minor] ?? '1.36.3'}`;

/** Its Kubernetes version, without `v`. */
export const kubernetesVersion = (node: TalosNode, component: KubernetesComponent): string =>
  imageVersionOf(componentImage(node, component)).replace(/-(?:fat|slim)$/, '');
