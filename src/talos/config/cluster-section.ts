import type { KeyPair } from '../certificates.ts';
import { toBase64 } from '../pem.ts';
import { withoutV } from '../versions.ts';
import { apiServerSection } from './api-server.ts';
import type { ConfigDocument } from './document.ts';
import type { MachineConfigInput } from './input.ts';
import { ownSubnets } from './network-section.ts';

/** `cluster` of the main document: the same on all nodes of a role. A worker gets no private key of any authority. */
export function clusterSection(input: MachineConfigInput): ConfigDocument {
  const { bundle, network, role } = input;
  return {
    id: bundle.cluster.id,
    secret: bundle.cluster.secret.reveal(),
    controlPlane: { endpoint: input.endpoint },
    clusterName: input.clusterName,
    network: {
      dnsDomain: network.dnsDomain,
      podSubnets: [...network.podSubnets],
      serviceSubnets: [...network.serviceSubnets],
    },
    token: bundle.bootstrapToken.reveal(),
    discovery: discoverySection(input),
    ...(role === 'controlplane'
      ? controlPlaneSection(input)
      : { ca: { crt: toBase64(bundle.authorities.kubernetes.certificate) } }),
  };
}

/** The registry in Kubernetes itself stays off: since Kubernetes 1.32 nodes are not allowed to use it. */
function discoverySection({ discovery }: MachineConfigInput): ConfigDocument {
  if (!discovery.enabled) return { enabled: false };
  const service = discovery.endpoint === undefined ? {} : { endpoint: discovery.endpoint };
  return { enabled: true, registries: { kubernetes: { disabled: true }, service } };
}

function controlPlaneSection(input: MachineConfigInput): ConfigDocument {
  const { bundle } = input;
  const { authorities, etcdEncryption } = bundle;
  const version = `v${withoutV(input.kubernetesVersion)}`;
  const subnets = ownSubnets(input);
  return {
    [`${etcdEncryption.kind}EncryptionSecret`]: etcdEncryption.key.reveal(),
    ca: withKey(authorities.kubernetes),
    aggregatorCA: withKey(authorities.aggregator),
    serviceAccount: { key: toBase64(bundle.serviceAccountKey.reveal()) },
    // All images are pinned: what is left out follows Talos, and an update of Talos would update Kubernetes with it.
    ...apiServerSection(input),
    controllerManager: { image: `registry.k8s.io/kube-controller-manager:${version}` },
    scheduler: { image: `registry.k8s.io/kube-scheduler:${version}` },
    proxy: { image: `registry.k8s.io/kube-proxy:${version}` },
    etcd: { ca: withKey(authorities.etcd), ...(subnets.length > 0 ? { advertisedSubnets: subnets } : {}) },
    ...(input.schedulableControlPlanes ? { allowSchedulingOnControlPlanes: true } : {}),
  };
}

const withKey = (authority: KeyPair): ConfigDocument => ({
  crt: toBase64(authority.certificate),
  key: toBase64(authority.key.reveal()),
});
