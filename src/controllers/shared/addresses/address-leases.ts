import { belongsToCluster, type ClusterIdentity, clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import { annotations, labels } from '../../../api/names.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Lease } from '../../../kube/core-types.ts';
import { isAlreadyExists } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { hashNames } from '../../../lib/hash.ts';
import { canonicalIp, listIpAddresses, listIpv6Groups, parseIp, parseIpRange } from '../../../lib/net/ip.ts';

export interface AddressHolder {
  /** The value in the Lease. */
  readonly text: string;
  /**
   * The Cluster of the holder. A Lease of the same holder in another Cluster, e.g. an earlier one of that name, does
   * not match. Undefined matches every Cluster, for orphans.
   */
  readonly cluster: ClusterIdentity | undefined;
}

/**
 * Address claims as Lease objects in the provider's namespace: `kubectl get leases -l <group>/address` shows the
 * address plan. The object is named after the address, so the API server itself refuses a second holder, across
 * Clusters, ProviderConfigs and instances of this provider. A claim exists until it is released.
 */
export class AddressLeases {
  readonly #kube: KubeClient;
  readonly #namespace: string;
  readonly #provider: string;

  constructor(kube: KubeClient, namespace: string, provider: string) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#provider = provider;
  }

  /**
   * Returns the address that `holder` has, or claims the lowest free one of `pool` that is not `reserved`. A claimed
   * address is kept even when the pool no longer contains it: a running machine is not renumbered.
   */
  async claim(
    holder: AddressHolder,
    pool: readonly string[],
    reserved: ReadonlySet<string>,
    signal: AbortSignal,
    madeOn?: string,
  ): Promise<string> {
    const { items } = await this.#kube.list(
      Lease,
      { namespace: this.#namespace, labelSelector: labels.address },
      signal,
    );
    const held = items.find((lease) => isHeldBy(lease, holder));
    if (held) return addressOfLease(held);
    const taken = new Set([...items.map(addressOfLease), ...reserved]);
    const ranges = pool.map(parseIpRange).filter((range) => range !== undefined);
    for (const address of listIpAddresses(ranges)) {
      if (taken.has(address)) continue;
      if (await this.#create(address, holder, signal, madeOn)) return address;
    }
    throw new ProviderError(
      'ADDRESS_POOL_EMPTY',
      `All addresses of network.addressPool (${pool.join(', ')}) are in use. Add addresses.`,
    );
  }

  /** All claimed addresses, those of other providers too, with the texts of their holders. */
  async list(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { items } = await this.#kube.list(
      Lease,
      { namespace: this.#namespace, labelSelector: labels.address },
      signal,
    );
    return new Map(items.map((lease) => [addressOfLease(lease), lease.spec?.holderIdentity ?? '']));
  }

  /** The holder of an address; undefined if it is free. */
  async holderOf(address: string, signal: AbortSignal): Promise<string | undefined> {
    const lease = await this.#kube.find(Lease, { namespace: this.#namespace, name: leaseNameOf(address) }, signal);
    return lease?.spec?.holderIdentity;
  }

  /** The address of `holder`; undefined if it has none. */
  async find(holder: AddressHolder, signal: AbortSignal): Promise<string | undefined> {
    const [lease] = await this.#of(holder, signal);
    return lease && addressOfLease(lease);
  }

  /** The claims of this provider's Machines that record the system of the Machine. */
  async leasedAddress(
    signal: AbortSignal,
  ): Promise<{ readonly machine: string; readonly address: string; readonly system: string }[]> {
    const labelSelector = `${labels.provider}=${this.#provider},${labels.address}`;
    const { items } = await this.#kube.list(Lease, { namespace: this.#namespace, labelSelector }, signal);
    const prefix = addressHolder.machine('').text;
    return items.flatMap((lease) => {
      const { holderIdentity: holder = '' } = lease.spec ?? {};
      const system = lease.metadata.annotations?.[annotations.madeOn];
      if (system === undefined || !holder.startsWith(prefix)) return [];
      return [{ machine: holder.slice(prefix.length), address: addressOfLease(lease), system }];
    });
  }

  /** Names of the Machines of a Cluster that hold an address, including deleted ones. */
  async machinesOf(cluster: ClusterIdentity, signal: AbortSignal): Promise<readonly string[]> {
    const labelSelector = `${labels.provider}=${this.#provider},${labels.address}`;
    const { items } = await this.#kube.list(Lease, { namespace: this.#namespace, labelSelector }, signal);
    const prefix = addressHolder.machine('').text;
    return items.flatMap(({ metadata, spec }) => {
      const holder = spec?.holderIdentity ?? '';
      return belongsToCluster(metadata, cluster) && holder.startsWith(prefix) ? [holder.slice(prefix.length)] : [];
    });
  }

  /** Gives the address of `holder` to another one, which has none yet. Returns it; undefined if there is none. */
  async transfer(holder: AddressHolder, next: AddressHolder, signal: AbortSignal): Promise<string | undefined> {
    const [lease] = await this.#of(holder, signal);
    if (!lease) return await this.find(next, signal);
    const { name, resourceVersion } = lease.metadata;
    const change = {
      metadata: { labels: { [labels.address]: hashNames(next.text) } },
      spec: { holderIdentity: next.text },
    };
    const lock = resourceVersion ? { resourceVersion } : {};
    await this.#kube.merge(Lease, { namespace: this.#namespace, name }, change, lock, signal);
    return addressOfLease(lease);
  }

  /** Releases the address of `holder`. Success if it has none. */
  async release(holder: AddressHolder, signal: AbortSignal): Promise<void> {
    for (const lease of await this.#of(holder, signal)) {
      const options = lease.metadata.uid ? { uid: lease.metadata.uid } : {};
      await this.#kube.remove(Lease, { namespace: this.#namespace, name: lease.metadata.name }, options, signal);
    }
  }

  async #of(holder: AddressHolder, signal: AbortSignal): Promise<Lease[]> {
    const labelSelector = `${labels.address}=${hashNames(holder.text)}`;
    const { items } = await this.#kube.list(Lease, { namespace: this.#namespace, labelSelector }, signal);
    return items.filter((lease) => isHeldBy(lease, holder));
  }

  /** False if the address was claimed concurrently. */
  async #create(
    address: string,
    holder: AddressHolder,
    signal: AbortSignal,
    madeOn: string | undefined,
  ): Promise<boolean> {
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: leaseNameOf(address),
        namespace: this.#namespace,
        labels: { [labels.provider]: this.#provider, [labels.address]: hashNames(holder.text) },
        annotations: {
          ...(holder.cluster && clusterIdentityAnnotations(holder.cluster)),
          ...(madeOn === undefined ? {} : { [annotations.madeOn]: madeOn }),
        },
      },
      spec: { holderIdentity: holder.text },
    };
    try {
      await this.#kube.create(Lease, lease, signal);
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }
}

const isHeldBy = ({ metadata, spec }: Lease, { text, cluster }: AddressHolder): boolean =>
  spec?.holderIdentity === text && (cluster === undefined || belongsToCluster(metadata, cluster));

/** Names must not contain colons nor end with dashes: an IPv6 address has all its groups there, e.g. `fd00-0-…-21`. */
function leaseNameOf(address: string): string {
  const ip = parseIp(address);
  return `talos-address-${ip?.family === 6 ? listIpv6Groups(ip.first).join('-') : address}`;
}

function addressOfLease({ metadata }: Lease): string {
  const address = metadata.name.replace(/^talos-address-/, '');
  return address.includes('-') ? canonicalIp(address.replaceAll('-', ':')) : address;
}

/** The holder text of each kind of holder. */
export const addressHolder = {
  machine: (name: string, cluster?: ClusterIdentity): AddressHolder => ({ text: `machine/${name}`, cluster }),
  /** Of a server that may still use it. */
  host: (name: string): AddressHolder => ({ text: `host/${name}`, cluster: undefined }),
  cluster: (cluster: ClusterIdentity): AddressHolder => ({
    text: `cluster/${cluster.namespace}/${cluster.name}`,
    cluster,
  }),
} as const;
