import type { NodeVolume } from './node-volume.ts';

/**
 * The ownership mark on every external resource. A resource with another mark, or none, is never changed or deleted.
 */
export interface Owner {
  /** UID of the platform cluster's `kube-system` namespace. */
  readonly installation: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** Name of the Machine. */
  readonly machine: string;
  /**
   * UID of its Cluster. Resources of a Machine of the same name in another Cluster, e.g. in an earlier one of the same
   * name, have another owner. Undefined when the Cluster is unknown: then it is not compared.
   */
  readonly cluster?: string | undefined;
}

/** The node that a step works for, as far as a platform may know it. */
export interface NodeSpec {
  /** Name of the Machine; also the node's host name. At most 63 characters of `[a-z0-9-]`. */
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  /** Worker pool, or `control-plane`. */
  readonly pool: string;
  /** One of the sizes of the platform's section. */
  readonly size: string;
  /** One of the platform's failure domains, if it has several. */
  readonly failureDomain?: string | undefined;
  /** The address of a node that others have made. */
  readonly address?: string | undefined;
  readonly cluster: { readonly namespace: string; readonly name: string };
  readonly talos: { readonly version: string; readonly schematic: Schematic; readonly factoryUrl: string };
  /** Propagated labels and annotations of the Cluster: shown in descriptions, never interpreted. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An image factory schematic: the extensions and arguments built into the image. Their order matters for its id. */
export interface Schematic {
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** The hardware that the platform found or chose; the machine configuration is rendered from it. */
export interface NodeHardware {
  /** Device to install to, e.g. `/dev/vda`. */
  readonly installDisk: string;
  /** Platform part of the installer image: `nocloud` or `metal`. It must equal that of the boot image. */
  readonly imagePlatform: 'nocloud' | 'metal';
  /** The first is the node's own network. */
  readonly links: readonly NodeLink[];
  /** `spec.providerID` of the Kubernetes Node. */
  readonly providerId: string;
  /** What kind of machine it is, as a label value: a product of its provider, or the shape of a virtual machine. */
  readonly instanceType?: string;
  /** Where the provider of the machine has it, as label values. */
  readonly topology?: NodeTopology;
  /** File systems on separate disks. */
  readonly volumes?: readonly NodeVolume[];
  /** Addresses that every control plane configures and the platform routes to one of them. */
  readonly floatingAddresses?: readonly string[];
}

/** A zone fails as a whole, like a data center; a region contains zones. */
export interface NodeTopology {
  readonly region: string;
  readonly zone: string;
}

/** The hardware of the machines of a size. */
export interface SizeHardware {
  readonly cpus: number;
  readonly memoryMiB: number;
  /** The disk with the system and the container images. */
  readonly diskGiB: number;
}

export interface NodeLink {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** Addresses with prefix length, e.g. `192.168.10.21/24`. */
  readonly addresses: readonly string[];
  readonly gateway?: string;
  /** The gateway is outside the prefix and reached on-link (bare metal with a /32). */
  readonly onLinkGateway?: boolean;
  /** Default gateway for IPv6, if one of the addresses is IPv6; a link-local gateway needs nothing more. */
  readonly gateway6?: string;
  /** The metric of its DHCP routes, or `false` for no DHCP. Default: no DHCP for a link with addresses. */
  readonly dhcp?: false | { readonly routeMetric: number };
  /** For a link with DHCP: the address, with prefix length, that the DHCP server reserves for it. */
  readonly reserved?: string;
  readonly mtu?: number;
  /** A tagged private network on this card. With one, nodes talk to each other and hold the VIP over it. */
  readonly vlan?: NodeVlan;
}

export interface NodeVlan {
  /** 1 to 4094. */
  readonly id: number;
  readonly addresses: readonly string[];
  readonly mtu?: number;
}

/** The link between the nodes of a cluster: the private network, if there is one, else the first card. */
export const clusterLinkOf = ({ links }: Pick<NodeHardware, 'links'>): NodeLink | undefined =>
  links.find(({ vlan }) => vlan !== undefined) ?? links[0];

/** The addresses of a link itself, without its VLAN. With DHCP, the reserved one comes first. */
export const linkAddressesOf = ({ addresses, reserved }: NodeLink): readonly string[] =>
  reserved === undefined ? addresses : [reserved, ...addresses];
