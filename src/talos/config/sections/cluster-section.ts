import type { KeyPair } from '../../secrets/certificates.ts';
import { toBase64 } from '../../secrets/pem.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { ClusterManifests, CustomCni, MachineConfigInput } from '../machine-config-input.ts';
import { buildAcceptedAuthorities } from './accepted-authorities.ts';
import { buildApiServerSection } from './api-server-section.ts';
import { componentImage } from './component-images.ts';
import { nodeAddressSubnets } from './network-section.ts';

/** `cluster` of the main document: the same on all nodes of a role. A worker gets no private key of any authority. */
export function buildClusterSection(input: MachineConfigInput): ConfigDocument {
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
      ...(network.cni ? { cni: buildCni(network.cni) } : {}),
    },
    token: bundle.bootstrapToken.reveal(),
    ...buildAcceptedAuthorities(bundle.accepted?.kubernetes),
    discovery: buildDiscoverySection(input),
    ...(input.externalCloudProvider ? { externalCloudProvider: { enabled: true } } : {}),
    ...(role === 'controlplane'
      ? buildControlPlaneSection(input)
      : { ca: { crt: toBase64(bundle.authorities.kubernetes.certificate) } }),
  };
}

/** The registry in Kubernetes itself stays disabled: since Kubernetes 1.32 nodes are not allowed to use it. */
function buildDiscoverySection({ discovery }: MachineConfigInput): ConfigDocument {
  if (!discovery.enabled) return { enabled: false };
  const service = discovery.endpoint === undefined ? {} : { endpoint: discovery.endpoint };
  return { enabled: true, registries: { kubernetes: { disabled: true }, service } };
}

function buildControlPlaneSection(input: MachineConfigInput): ConfigDocument {
  const { bundle } = input;
  const { authorities, etcdEncryption } = bundle;
  const subnets = nodeAddressSubnets(input);
  return {
    [`${etcdEncryption.kind}EncryptionSecret`]: etcdEncryption.key.reveal(),
    ca: toCertificateAndKey(authorities.kubernetes),
    aggregatorCA: toCertificateAndKey(authorities.aggregator),
    serviceAccount: { key: toBase64(bundle.serviceAccountKey.reveal()) },
    // All images are pinned: the defaults follow Talos, so that an update of Talos would update Kubernetes with it.
    ...buildApiServerSection(input),
    controllerManager: { image: componentImage('controllerManager', input) },
    scheduler: { image: componentImage('scheduler', input) },
    proxy: { ...(input.network.kubeProxy === false ? { disabled: true } : {}), image: componentImage('proxy', input) },
    etcd: { ca: toCertificateAndKey(authorities.etcd), ...(subnets.length > 0 ? { advertisedSubnets: subnets } : {}) },
    ...(input.schedulableControlPlanes ? { allowSchedulingOnControlPlanes: true } : {}),
    ...buildManifests(input.manifests),
  };
}

const buildCni = (cni: CustomCni): ConfigDocument =>
  cni.name === 'none' ? { name: 'none' } : { name: 'custom', urls: [...cni.urls] };

const buildManifests = ({ urls, inline }: ClusterManifests = { urls: [], inline: [] }): ConfigDocument => ({
  ...(urls.length > 0 ? { extraManifests: [...urls] } : {}),
  ...(inline.length > 0 ? { inlineManifests: inline.map(({ name, contents }) => ({ name, contents })) } : {}),
});

const toCertificateAndKey = (authority: KeyPair): ConfigDocument => ({
  crt: toBase64(authority.certificate),
  key: toBase64(authority.key.reveal()),
});
