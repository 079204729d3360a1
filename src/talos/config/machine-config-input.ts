import type { NodeHardware } from '../../engine/platform.ts';
import type { SecretsBundle } from '../secrets/secrets-bundle.ts';
import type { OidcTrust } from './oidc/oidc-trust.ts';
import type { ConfigPatch } from './patch/apply-patches.ts';

/** A taint that a node registers with. */
export interface NodeTaint {
  readonly key: string;
  /** May be empty. */
  readonly value: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Everything that a node's machine configuration is made from. The same input gives the same text. */
export interface MachineConfigInput {
  readonly bundle: SecretsBundle;
  /** With or without a leading `v`. Decides which form of the configuration is written. */
  readonly talosVersion: string;
  readonly kubernetesVersion: string;
  readonly clusterName: string;
  /** `https://host:6443`. It becomes the issuer of service-account tokens, so it never changes. */
  readonly endpoint: string;
  readonly role: 'controlplane' | 'worker';
  /** Also the name of the etcd member and of the Kubernetes Node: unique in the cluster. */
  readonly hostname: string;
  readonly hardware: NodeHardware;
  /** From `installerImage` of the image factory; its platform and schematic are those of the boot image. */
  readonly installerImage: string;
  readonly network: {
    readonly podSubnets: readonly string[];
    readonly serviceSubnets: readonly string[];
    readonly dnsDomain: string;
    /** Empty: what DHCP says. */
    readonly nameServers: readonly string[];
    /** Empty: the one that Talos ships with. */
    readonly timeServers: readonly string[];
  };
  /** Address that the control planes hand around among themselves, on the node's own network. Ignored on workers. */
  readonly vip?: string;
  /** Further names and addresses under which the Talos API is reached. The node's own are always in. */
  readonly talosCertSANs: readonly string[];
  /** Further names of the API server. The endpoint's host and the node's addresses are always in. */
  readonly apiServerCertSANs: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly nodeTaints: readonly NodeTaint[];
  readonly schedulableControlPlanes: boolean;
  readonly discovery: { readonly enabled: boolean; readonly endpoint?: string };
  /** Whose tokens the API server takes. Before Talos 1.14 one at most. */
  readonly trust: readonly OidcTrust[];
  /** PEM bundles that control planes before Talos 1.14 have as files, for trust in issuers that comes later. */
  readonly issuerAuthorities: readonly string[];
  /** Applied in order. */
  readonly patches: readonly ConfigPatch[];
}
