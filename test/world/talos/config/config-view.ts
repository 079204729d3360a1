import { parse } from 'yaml';
import type { MachineConfig, SimulatedConfigDocument } from './decode-config.ts';
import { type Fields, fieldAt, fieldsAt, listAt, scalarText, textAt, textsAt } from './fields.ts';
import { type InterfaceView, interfacesOf, type SharedAddressView, sharedAddressOf } from './links.ts';

/** A certificate with its key, as in the configuration: base64 of PEM, or PEM. Empty without one. */
export interface CertificateKeyPair {
  readonly crt: string;
  readonly key: string;
}

/** The meaning of a configuration: v1alpha1 fields and 1.14 documents in one form. */
export interface ConfigView extends SharedAddressView {
  readonly type: string;
  readonly token: string;
  readonly osCa: CertificateKeyPair;
  readonly acceptedCas: readonly string[];
  readonly certSans: readonly string[];
  readonly hostname: string | undefined;
  readonly links: readonly InterfaceView[];
  readonly clusterId: string;
  readonly clusterSecret: string;
  readonly clusterName: string;
  readonly endpoint: string;
  readonly discovery: boolean;
  readonly install:
    | { readonly disk: string; readonly diskSelector: Fields; readonly image: string; readonly wipe: boolean }
    | undefined;
  /** Files that are written when the node boots, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly kubernetes: KubernetesView;
  readonly etcdCa: CertificateKeyPair;
  /** Reference of the image; empty without one. */
  readonly etcdImage: string;
}

export interface KubernetesView {
  readonly bootstrapToken: string;
  readonly ca: CertificateKeyPair;
  /** Other accepted client CAs, base64 of PEM or PEM. */
  readonly acceptedCas: readonly string[];
  readonly aggregatorCa: CertificateKeyPair;
  readonly serviceAccount: {
    readonly key: string;
    readonly issuer: string;
    readonly acceptedIssuers: readonly string[];
    readonly acceptedAudiences: readonly string[];
  };
  /** Reference of the image by component; empty without one. */
  readonly images: Readonly<Record<'kubelet' | 'apiServer' | 'controllerManager' | 'scheduler' | 'proxy', string>>;
  readonly apiServerArgs: Readonly<Record<string, readonly string[]>>;
  /** Flags of the other static pods. */
  readonly componentArgs: Readonly<
    Record<'controllerManager' | 'scheduler', Readonly<Record<string, readonly string[]>>>
  >;
  /** Host paths that are mounted into kube-apiserver, by its own path. */
  readonly apiServerVolumes: readonly { readonly hostPath: string; readonly mountPath: string }[];
  readonly apiServerSans: readonly string[];
  readonly apiPort: number;
  readonly apiServerEnv: Readonly<Record<string, string>>;
  /** New-style documents: an authentication configuration is always passed. */
  readonly authentication: Fields | undefined;
  /** In order; the v1alpha1 form adds its defaults. */
  readonly authorizers: readonly Fields[];
  /** Admission plug-ins with their configuration. */
  readonly admission: readonly { readonly name: string; readonly configuration: Fields }[];
  readonly auditPolicy: Fields;
  /** The encryption of Secrets in etcd. */
  readonly encryption: { readonly secretbox: string; readonly aescbc: string; readonly config: Fields | undefined };
  readonly dnsDomain: string;
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly cni: string;
  /** A cloud controller manager initializes Nodes. */
  readonly externalCloudProvider: boolean;
  readonly proxyDisabled: boolean;
  readonly inlineManifests: readonly { readonly name: string; readonly contents: string }[];
  readonly kubelet: {
    readonly args: Readonly<Record<string, readonly string[]>>;
    readonly validSubnets: readonly string[];
    readonly extraConfig: Fields;
    readonly skipRegistration: boolean;
  };
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: Readonly<Record<string, string>>;
  readonly schedulable: boolean;
}

const pairAt = (value: unknown, path: string): CertificateKeyPair => ({
  crt: textAt(value, `${path}.crt`) || textAt(value, `${path}.cert`),
  key: textAt(value, `${path}.key`),
});
const textMap = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, scalarText(value)]));

/** Flags by name; a list repeats the flag. */
const argsAt = (value: unknown, path: string): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(fieldsAt(value, path)).map(([flag, item]) => [
      flag,
      Array.isArray(item) ? item.map(scalarText) : [scalarText(item)],
    ]),
  );

/** Converts both forms into one. It does not validate: a missing field is empty. */
export function viewOf(config: MachineConfig): ConfigView {
  const legacy = config.legacy ?? {};
  const one = (kind: string): Fields => config.documents.find((document) => document.kind === kind)?.body ?? {};
  const has = (kind: string): boolean => config.documents.some((document) => document.kind === kind);
  return {
    type: textAt(legacy, 'machine.type'),
    token: textAt(legacy, 'machine.token'),
    osCa: pairAt(legacy, 'machine.ca'),
    acceptedCas: listAt(legacy, 'machine.acceptedCAs').map((item) => textAt(item, 'crt')),
    certSans: textsAt(legacy, 'machine.certSANs'),
    hostname: textAt(legacy, 'machine.network.hostname') || textAt(one('HostnameConfig'), 'hostname') || undefined,
    links: interfacesOf(legacy, config.documents),
    ...sharedAddressOf(legacy, config.documents),
    clusterId: textAt(legacy, 'cluster.id') || textAt(one('DiscoveryIdentityConfig'), 'clusterID'),
    clusterSecret: textAt(legacy, 'cluster.secret') || textAt(one('DiscoveryIdentityConfig'), 'clusterSecret'),
    clusterName: textAt(legacy, 'cluster.clusterName') || textAt(one('KubeClusterConfig'), 'clusterName'),
    endpoint: textAt(legacy, 'cluster.controlPlane.endpoint') || textAt(one('KubeClusterConfig'), 'endpoint'),
    discovery: fieldAt(legacy, 'cluster.discovery.enabled') === true || has('DiscoveryServiceConfig'),
    install: installOf(legacy, config.documents),
    files: Object.fromEntries(
      listAt(legacy, 'machine.files').map((item) => [textAt(item, 'path'), textAt(item, 'content')]),
    ),
    kubernetes: kubernetesOf(legacy, config.documents, one, has),
    etcdCa: pairAt(legacy, 'cluster.etcd.ca'),
    etcdImage: textAt(legacy, 'cluster.etcd.image'),
  };
}

function installOf(legacy: Fields, documents: readonly SimulatedConfigDocument[]): ConfigView['install'] {
  const unattended = documents.find((document) => document.kind === 'UnattendedInstallConfig')?.body;
  if (unattended) {
    return {
      disk: '',
      diskSelector: fieldsAt(unattended, 'provisioning.diskSelector'),
      image: textAt(unattended, 'installer.image'),
      wipe: fieldAt(unattended, 'provisioning.wipe') === true,
    };
  }
  if (fieldAt(legacy, 'machine.install') === undefined) return undefined;
  return {
    disk: textAt(legacy, 'machine.install.disk'),
    diskSelector: fieldsAt(legacy, 'machine.install.diskSelector'),
    image: textAt(legacy, 'machine.install.image'),
    wipe: fieldAt(legacy, 'machine.install.wipe') === true,
  };
}

function kubernetesOf(
  legacy: Fields,
  documents: readonly SimulatedConfigDocument[],
  one: (kind: string) => Fields,
  has: (kind: string) => boolean,
): KubernetesView {
  const node = one('KubeNodeConfig');
  const kubelet = has('KubeletConfig') ? one('KubeletConfig') : fieldsAt(legacy, 'machine.kubelet');
  const api = has('KubeAPIServerConfig') ? one('KubeAPIServerConfig') : fieldsAt(legacy, 'cluster.apiServer');
  const network = has('KubeNetworkConfig') ? one('KubeNetworkConfig') : fieldsAt(legacy, 'cluster.network');
  const ca = has('KubeAPIServerCAConfig')
    ? pairAt(one('KubeAPIServerCAConfig'), 'issuingCA')
    : pairAt(legacy, 'cluster.ca');
  const aggregator = has('KubeAggregatorCAConfig') ? one('KubeAggregatorCAConfig') : fieldsAt(legacy, 'cluster');
  const issuer = has('KubeServiceAccountConfig') ? one('KubeServiceAccountConfig') : {};
  const image = (path: string, kind: string): string => textAt(one(kind), 'image') || textAt(legacy, path);
  const argsOf = (kind: string, path: string) => argsAt(has(kind) ? one(kind) : fieldsAt(legacy, path), 'extraArgs');
  return {
    bootstrapToken: textAt(legacy, 'cluster.token'),
    ca,
    acceptedCas: has('KubeAPIServerCAConfig')
      ? textsAt(one('KubeAPIServerCAConfig'), 'acceptedCAs')
      : listAt(legacy, 'cluster.acceptedCAs').map((item) => textAt(item, 'crt')),
    aggregatorCa: pairAt(aggregator, has('KubeAggregatorCAConfig') ? 'issuingCA' : 'aggregatorCA'),
    serviceAccount: {
      key: textAt(issuer, 'issuer.privateKey') || textAt(legacy, 'cluster.serviceAccount.key'),
      issuer: textAt(issuer, 'issuer.issuerURL'),
      acceptedIssuers: textsAt(issuer, 'accepted.issuers'),
      acceptedAudiences: textsAt(issuer, 'accepted.audiences'),
    },
    images: {
      kubelet: image('machine.kubelet.image', 'KubeletConfig'),
      apiServer: image('cluster.apiServer.image', 'KubeAPIServerConfig'),
      controllerManager: image('cluster.controllerManager.image', 'KubeControllerManagerConfig'),
      scheduler: image('cluster.scheduler.image', 'KubeSchedulerConfig'),
      proxy: image('cluster.proxy.image', 'KubeProxyConfig'),
    },
    apiServerArgs: argsAt(api, 'extraArgs'),
    componentArgs: {
      controllerManager: argsOf('KubeControllerManagerConfig', 'cluster.controllerManager'),
      scheduler: argsOf('KubeSchedulerConfig', 'cluster.scheduler'),
    },
    apiServerVolumes: listAt(api, 'extraVolumes').map((item) => ({
      hostPath: textAt(item, 'hostPath'),
      mountPath: textAt(item, 'mountPath'),
    })),
    apiServerEnv: textMap(fieldsAt(api, 'env')),
    apiServerSans: [...textsAt(api, 'certSANs'), ...textsAt(api, 'certExtraSANs')],
    apiPort:
      Number(fieldAt(api, 'apiPort') ?? fieldAt(legacy, 'cluster.controlPlane.localAPIServerPort') ?? 6443) || 6443,
    authentication: has('KubeAPIServerConfig') ? fieldsAt(one('KubeAuthenticationConfig'), 'configuration') : undefined,
    authorizers: authorizersOf(legacy, documents),
    admission: admissionOf(legacy, documents),
    auditPolicy: has('KubeAuditPolicyConfig')
      ? fieldsAt(one('KubeAuditPolicyConfig'), 'configuration')
      : fieldsAt(legacy, 'cluster.apiServer.auditPolicy'),
    encryption: {
      secretbox: textAt(legacy, 'cluster.secretboxEncryptionSecret'),
      aescbc: textAt(legacy, 'cluster.aescbcEncryptionSecret'),
      config: has('KubeEtcdEncryptionConfig') ? fieldsAt(one('KubeEtcdEncryptionConfig'), 'config') : undefined,
    },
    dnsDomain: textAt(network, 'dnsDomain') || 'cluster.local',
    podSubnets: orDefault(textsAt(network, 'podSubnets'), ['10.244.0.0/16']),
    serviceSubnets: orDefault(textsAt(network, 'serviceSubnets'), ['10.96.0.0/12']),
    cni: cniOf(legacy, has),
    externalCloudProvider: fieldAt(legacy, 'cluster.externalCloudProvider.enabled') === true,
    inlineManifests: listAt(legacy, 'cluster.inlineManifests').map((manifest) => ({
      name: textAt(manifest as Fields, 'name'),
      contents: textAt(manifest as Fields, 'contents'),
    })),
    proxyDisabled:
      fieldAt(legacy, 'cluster.proxy.disabled') === true || (has('KubeNetworkConfig') && !has('KubeProxyConfig')),
    kubelet: {
      args: argsAt(kubelet, 'extraArgs'),
      validSubnets: [...textsAt(kubelet, 'nodeIP.validSubnets'), ...textsAt(node, 'nodeIP.validSubnets')],
      extraConfig: has('KubeletConfig') ? fieldsAt(kubelet, 'config') : fieldsAt(kubelet, 'extraConfig'),
      skipRegistration:
        fieldAt(kubelet, 'skipNodeRegistration') === true || fieldAt(node, 'skipNodeRegistration') === true,
    },
    labels: { ...textMap(fieldsAt(legacy, 'machine.nodeLabels')), ...textMap(fieldsAt(node, 'labels')) },
    annotations: { ...textMap(fieldsAt(legacy, 'machine.nodeAnnotations')), ...textMap(fieldsAt(node, 'annotations')) },
    taints: { ...textMap(fieldsAt(legacy, 'machine.nodeTaints')), ...textMap(fieldsAt(node, 'taints')) },
    schedulable: fieldAt(legacy, 'cluster.allowSchedulingOnControlPlanes') === true || has('KubeNodeConfig'),
  };
}

/** Flannel is the default of the v1alpha1 form; among the documents it has its own (talos: v1alpha1_k8s_bridge.go). */
function cniOf(legacy: Fields, has: (kind: string) => boolean): string {
  if (has('KubeFlannelCNIConfig')) return 'flannel';
  if (fieldAt(legacy, 'cluster.network') !== undefined) return textAt(legacy, 'cluster.network.cni.name') || 'flannel';
  return has('KubeNetworkConfig') || has('KubeAPIServerConfig') ? 'none' : 'flannel';
}

/** Node and RBAC are the defaults of the v1alpha1 form (talos: controllers/k8s/control_plane.go). */
function authorizersOf(legacy: Fields, documents: readonly SimulatedConfigDocument[]): Fields[] {
  const given = documents
    .filter((document) => document.kind === 'KubeAuthorizerConfig')
    .map(({ name, body }): Fields => ({ ...body, name }));
  if (documents.some((document) => document.kind === 'KubeAPIServerConfig')) return given;
  const old = [...given, ...listAt(legacy, 'cluster.apiServer.authorizationConfig').map((item) => item as Fields)];
  const has = (type: string): boolean => old.some((item) => item['type'] === type);
  if (!has('Node')) old.unshift({ type: 'Node', name: 'node' });
  if (!has('RBAC')) old.splice(1, 0, { type: 'RBAC', name: 'rbac' });
  return old;
}

function admissionOf(legacy: Fields, documents: readonly SimulatedConfigDocument[]): KubernetesView['admission'] {
  const modern = documents.filter((document) => document.kind === 'KubeAdmissionControlConfig');
  const all = modern.length > 0 ? modern.map(({ name, body }) => ({ ...body, name })) : undefined;
  return (all ?? listAt(legacy, 'cluster.apiServer.admissionControl')).map((item) => ({
    name: textAt(item, 'name'),
    configuration: fieldsAt(item, 'configuration'),
  }));
}

/** `1.36.3` of `registry.k8s.io/kube-apiserver:v1.36.3@sha256:…`; empty without such a tag. */
export function imageVersionOf(image: string): string {
  const index = image.lastIndexOf(':v');
  return index < 0 ? '' : (image.slice(index + 2).split('@')[0] ?? '');
}

const orDefault = (found: readonly string[], otherwise: readonly string[]): readonly string[] =>
  found.length > 0 ? found : otherwise;

/** A free-form text of a document as a value, e.g. of META 0x0a. */
export const parseYaml = (text: string): unknown => parse(text);
