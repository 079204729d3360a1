import type { NodeHardware } from '../../engine/node.ts';
import type { SecretsBundle } from '../secrets/secrets-bundle.ts';
import type { OidcTrust } from './oidc/oidc-trust.ts';
import type { ConfigPatch } from './patch/apply-patches.ts';

/** A taint with which a node registers. */
export interface NodeTaint {
  readonly key: string;
  /** May be empty. */
  readonly value: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** The components of a control plane that have an image of Kubernetes. */
export const controlPlaneComponents = ['apiServer', 'controllerManager', 'scheduler', 'proxy'] as const;
export type ControlPlaneComponent = (typeof controlPlaneComponents)[number];

/** None, or the manifests at these URLs. */
export type CustomCni = { readonly name: 'none' } | { readonly name: 'custom'; readonly urls: readonly string[] };

export interface ClusterManifests {
  readonly urls: readonly string[];
  /** `contents`: YAML documents. */
  readonly inline: readonly { readonly name: string; readonly contents: string }[];
}

/** Registries with mirrors. */
export interface NodeRegistries {
  readonly mirrors: readonly {
    readonly registry: string;
    /** URLs. */
    readonly endpoints: readonly string[];
    readonly overridePath: boolean;
    readonly skipFallback: boolean;
  }[];
  /** PEM, of all endpoints. */
  readonly caBundle?: string | undefined;
}

/** URLs of proxies, and what is reached without them beside the cluster itself. */
export interface NodeProxy {
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  readonly noProxy: readonly string[];
}

/** All inputs of a node's machine configuration. The same input renders the same text. */
export interface MachineConfigInput {
  readonly bundle: SecretsBundle;
  /** With or without a leading `v`. Determines the form of the configuration. */
  readonly talosVersion: string;
  /** Of the kubelet, and of every component that {@link components} does not name. */
  readonly kubernetesVersion: string;
  /** Versions that differ from it during an upgrade of Kubernetes. */
  readonly components?: { readonly [C in ControlPlaneComponent]?: string | undefined };
  readonly clusterName: string;
  /** `https://host:6443`. It becomes the issuer of service account tokens, so it never changes. */
  readonly endpoint: string;
  readonly role: 'controlplane' | 'worker';
  /** Also the name of the etcd member and of the Kubernetes Node: unique in the cluster. */
  readonly hostname: string;
  readonly hardware: NodeHardware;
  /** From `installerImage` of the image factory. Its platform and schematic are those of the boot image. */
  readonly installerImage: string;
  readonly network: {
    readonly podSubnets: readonly string[];
    readonly serviceSubnets: readonly string[];
    readonly dnsDomain: string;
    /** Empty: from DHCP. */
    readonly nameServers: readonly string[];
    /** Empty: the default of Talos. */
    readonly timeServers: readonly string[];
    /** Absent: Flannel. */
    readonly cni?: CustomCni;
    /** Default true. */
    readonly kubeProxy?: boolean;
    /** Default false. */
    readonly kubeSpan?: boolean;
  };
  /** What control planes create in a new cluster. */
  readonly manifests?: ClusterManifests;
  /** Absent: images come from the registries that they name. */
  readonly registries?: NodeRegistries;
  /** Absent: none. */
  readonly proxy?: NodeProxy;
  /** The virtual address that the control planes share, on the node's own network. Ignored on workers. */
  readonly vip?: string;
  /** Further names and addresses of the Talos API. The node's own are always included. */
  readonly talosCertSANs: readonly string[];
  /** Further names of the API server. The endpoint's host and the node's addresses are always included. */
  readonly apiServerCertSANs: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly nodeTaints: readonly NodeTaint[];
  /**
   * Nodes register with the taint `node.cloudprovider.kubernetes.io/uninitialized` and without a provider id, both of
   * which are up to a cloud controller manager. Default false.
   */
  readonly externalCloudProvider?: boolean;
  readonly schedulableControlPlanes: boolean;
  readonly discovery: { readonly enabled: boolean; readonly endpoint?: string };
  /** The issuers whose tokens the API server accepts. Before Talos 1.14 at most one. */
  readonly trust: readonly OidcTrust[];
  /** PEM bundles that control planes before Talos 1.14 have as files, for issuers that are added later. */
  readonly issuerAuthorities: readonly string[];
  /** Applied in order. */
  readonly patches: readonly ConfigPatch[];
}
