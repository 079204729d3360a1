import { withoutLeadingV } from '../../versions.ts';
import type { ControlPlaneComponent, MachineConfigInput } from '../machine-config-input.ts';

type Versions = Pick<MachineConfigInput, 'kubernetesVersion' | 'components'>;

const repositories: Readonly<Record<ControlPlaneComponent, string>> = {
  apiServer: 'registry.k8s.io/kube-apiserver',
  controllerManager: 'registry.k8s.io/kube-controller-manager',
  scheduler: 'registry.k8s.io/kube-scheduler',
  proxy: 'registry.k8s.io/kube-proxy',
};

/** The image of a component of the control plane. The tag is pinned: the defaults follow Talos. */
export const componentImage = (component: ControlPlaneComponent, versions: Versions): string =>
  `${repositories[component]}:v${withoutLeadingV(versions.components?.[component] ?? versions.kubernetesVersion)}`;

export const kubeletImage = ({ kubernetesVersion }: Pick<Versions, 'kubernetesVersion'>): string =>
  `ghcr.io/siderolabs/kubelet:v${withoutLeadingV(kubernetesVersion)}`;
