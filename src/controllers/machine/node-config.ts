import type { Machine } from '../../api/machine.ts';
import { labels } from '../../api/names.ts';
import type { NetworkSpec, ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { NodeHardware } from '../../engine/node.ts';
import { placementLabelsOf } from '../../engine/node-labels.ts';
import {
  type ConfigPatch,
  issuerCaId,
  type MachineConfigInput,
  type OidcTrust,
} from '../../talos/config/machine-config.ts';
import { installerImage } from '../../talos/image-factory/client.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { addIpv6Addresses } from '../shared/addresses/node-ipv6.ts';

/** All inputs of the configuration of one node. */
export interface NodeConfigSources {
  readonly spec: ProviderConfigSpec;
  readonly name: string;
  readonly machine: Machine['spec'];
  readonly endpoint: string;
  readonly hardware: NodeHardware;
  /** As returned by the image factory. */
  readonly schematicId: string;
  readonly bundle: SecretsBundle;
  /** The OIDC issuers that the API servers of the cluster trust. */
  readonly trust: readonly OidcTrust[];
}

/** Derives the input of the machine configuration from ProviderConfig and Machine. */
export function describeNodeConfig({ spec, name, machine, hardware, ...rest }: NodeConfigSources): MachineConfigInput {
  const { talos, network, controlPlane } = spec;
  const externalCloudProvider = spec.kubernetes.externalCloudProvider.enabled;
  const pool = spec.workerPools.find((candidate) => candidate.name === machine.pool);
  const isControlPlane = machine.role === 'controlplane';
  const floating = isControlPlane ? (hardware.floatingAddresses ?? []) : [];
  return {
    bundle: rest.bundle,
    talosVersion: machine.talosVersion,
    kubernetesVersion: machine.kubernetesVersion,
    ...(isControlPlane && machine.components ? { components: machine.components } : {}),
    clusterName: machine.clusterRef.name,
    endpoint: rest.endpoint,
    role: machine.role,
    hostname: name,
    hardware: addIpv6Addresses(hardware, network.ipv6),
    installerImage: installerImage({
      factoryUrl: talos.factoryUrl,
      platform: hardware.imagePlatform,
      schematicId: rest.schematicId,
      version: machine.talosVersion,
    }),
    network: {
      podSubnets: network.podSubnets,
      serviceSubnets: network.serviceSubnets,
      dnsDomain: network.dnsDomain,
      nameServers: network.nameServers ?? [],
      timeServers: network.timeServers,
      ...cniOf(network.cni),
      kubeProxy: network.kubeProxy,
      kubeSpan: network.kubeSpan.enabled,
    },
    manifests: { urls: spec.kubernetes.extraManifests, inline: spec.kubernetes.inlineManifests },
    ...(isControlPlane && machine.virtualAddress ? { vip: machine.virtualAddress } : {}),
    talosCertSANs: floating,
    apiServerCertSANs: floating,
    nodeLabels: {
      [labels.pool]: machine.pool,
      // A label that the machine configuration names belongs to Talos, so that nobody else can set it.
      ...(externalCloudProvider ? {} : labelsByPlacement(spec, machine, hardware)),
      ...pool?.labels,
    },
    externalCloudProvider,
    nodeTaints: pool?.taints ?? [],
    schedulableControlPlanes:
      controlPlane.schedulable || spec.workerPools.every((candidate) => candidate.replicas === 0),
    discovery: {
      enabled: talos.discovery.enabled,
      ...(talos.discovery.endpoint ? { endpoint: talos.discovery.endpoint } : {}),
    },
    registries: talos.registries,
    ...(talos.proxy ? { proxy: talos.proxy } : {}),
    trust: rest.trust,
    issuerAuthorities: issuerAuthoritiesFor(spec, machine, rest.trust),
    patches: patchesFor(spec, machine),
  };
}

const cniOf = ({ name, urls }: NetworkSpec['cni']): Pick<MachineConfigInput['network'], 'cni'> => {
  if (name === 'Flannel') return {};
  return { cni: name === 'None' ? { name: 'none' } : { name: 'custom', urls } };
};

/** The configured CA certificates that the Machine names, and the CA certificates of all trusted issuers. */
function issuerAuthoritiesFor(
  { access }: ProviderConfigSpec,
  { issuerAuthorities = [] }: Machine['spec'],
  trust: readonly OidcTrust[],
): string[] {
  const wanted = access.oidcIssuers.map(({ caBundle }) => caBundle);
  const given = wanted.filter((ca) => issuerAuthorities.includes(issuerCaId(ca)));
  const needed = trust.flatMap(({ ca }) => (ca === undefined ? [] : [ca]));
  return [...new Map([...given, ...needed].map((ca) => [issuerCaId(ca), ca])).values()];
}

/** The patches of a node in the order of their application, each with its field. */
function patchesFor(spec: ProviderConfigSpec, machine: Machine['spec']): ConfigPatch[] {
  const at = (field: string, documents: readonly Record<string, unknown>[]): ConfigPatch[] =>
    documents.map((document, i) => ({ from: `${field}.patches[${i}]`, document }));
  const pool = spec.workerPools.findIndex((candidate) => candidate.name === machine.pool);
  const own =
    machine.role === 'controlplane'
      ? at('controlPlane', spec.controlPlane.patches)
      : at(`workerPools[${pool}]`, spec.workerPools[pool]?.patches ?? []);
  return [...at('talos', spec.talos.patches), ...own];
}

/** A failure domain is a zone, where the platform has several of them. */
const labelsByPlacement = (
  { network }: ProviderConfigSpec,
  { failureDomain }: Machine['spec'],
  { instanceType, topology }: NodeHardware,
): Record<string, string> =>
  placementLabelsOf({
    instanceType,
    region: network.region ?? topology?.region,
    zone: failureDomain ?? topology?.zone,
  });
