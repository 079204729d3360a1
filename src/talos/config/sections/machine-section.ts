import { toBase64 } from '../../secrets/pem.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput } from '../machine-config-input.ts';
import { machineIdAnnotation } from '../machine-id-annotation.ts';
import { buildAcceptedAuthorities } from './accepted-authorities.ts';
import { buildIssuerCaFiles } from './api-server-section.ts';
import { kubeletImage } from './component-images.ts';
import { buildEgressFields } from './egress-section.ts';
import { buildNetworkSection, nodeAddressSubnets } from './network-section.ts';

/** `machine` of the main document: this one node. */
export function buildMachineSection(input: MachineConfigInput): ConfigDocument {
  const { bundle, role, network } = input;
  const controlPlane = role === 'controlplane';
  const { certificate, key } = bundle.authorities.os;
  return {
    type: role,
    token: bundle.machineToken.reveal(),
    ca: { crt: toBase64(certificate), ...(controlPlane ? { key: toBase64(key.reveal()) } : {}) },
    ...buildAcceptedAuthorities(bundle.accepted?.os),
    certSANs: [...input.talosCertSANs],
    kubelet: buildKubeletSection(input),
    network: buildNetworkSection(input),
    install: {
      disk: input.hardware.installDisk,
      image: input.installerImage,
      wipe: false,
      // Kernel arguments come only from the image, so that the schematic determines how a node boots.
      grubUseUKICmdline: true,
    },
    ...(network.timeServers.length > 0 ? { time: { servers: [...network.timeServers] } } : {}),
    features: {
      diskQuotaSupport: true,
      // With KubePrism kubelets reach an API server when the endpoint of the cluster is unreachable.
      kubePrism: { enabled: true, port: 7445 },
      hostDNS: { enabled: true, forwardKubeDNSToHost: true },
    },
    ...buildEgressFields(input),
    ...buildLabelsAndTaints(input),
    ...(input.externalCloudProvider ? { nodeAnnotations: { [machineIdAnnotation]: input.hardware.providerId } } : {}),
    ...buildIssuerCaFiles(input),
  };
}

function buildKubeletSection(input: MachineConfigInput): ConfigDocument {
  const subnets = nodeAddressSubnets(input);
  return {
    image: kubeletImage(input),
    defaultRuntimeSeccompProfileEnabled: true,
    disableManifestsDirectory: true,
    // Only the kubelet's flag sets the provider id on the Node object, and only when the node registers.
    ...(input.externalCloudProvider ? {} : { extraArgs: { 'provider-id': input.hardware.providerId } }),
    ...(subnets.length > 0 ? { nodeIP: { validSubnets: subnets } } : {}),
    ...(input.role === 'worker' && input.nodeTaints.length > 0
      ? {
          extraConfig: {
            registerWithTaints: input.nodeTaints.map(({ key, value, effect }) => ({ key, value, effect })),
          },
        }
      : {}),
  };
}

/**
 * A worker may not change its own taints later (the NodeRestriction admission plugin), so its kubelet registers with
 * them. On control planes Talos sets them with its own permissions.
 */
function buildLabelsAndTaints(input: MachineConfigInput): ConfigDocument {
  const controlPlane = input.role === 'controlplane';
  const labels = {
    ...(controlPlane ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } : {}),
    ...input.nodeLabels,
  };
  const taints = Object.fromEntries(
    input.nodeTaints.map(({ key, value, effect }) => [key, value === '' ? effect : `${value}:${effect}`]),
  );
  return {
    ...(Object.keys(labels).length > 0 ? { nodeLabels: labels } : {}),
    ...(controlPlane && input.nodeTaints.length > 0 ? { nodeTaints: taints } : {}),
  };
}
