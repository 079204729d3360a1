import { annotations, labels } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { Lease } from '../kube/core-types.ts';
import { isAlreadyExists } from '../kube/errors.ts';
import { ProviderError } from '../lib/errors.ts';
import { hash8 } from '../lib/hash.ts';
import { addressesOf, parseIpv4Range } from '../lib/ipv4.ts';

/**
 * Who holds which address, as Lease objects in the provider's namespace: `kubectl get leases -l <group>/address` is the
 * address plan. The object is named after the address, so the API server itself refuses a second holder, across
 * Clusters, ProviderConfigs and instances of this provider. A claim lives until it is released.
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
   * The address that `holder` has, or the lowest free one of `pool` that is not `reserved`, now claimed. An address once
   * claimed is kept even when the pool no longer holds it: a running machine is not renumbered.
   */
  async claim(
    holder: string,
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
    const held = items.find((lease) => lease.spec?.holderIdentity === holder);
    if (held) return addressOf(held);
    const taken = new Set([...items.map(addressOf), ...reserved]);
    const ranges = pool.map(parseIpv4Range).filter((range) => range !== undefined);
    for (const address of addressesOf(ranges)) {
      if (taken.has(address)) continue;
      if (await this.#create(address, holder, signal, madeOn)) return address;
    }
    throw new ProviderError(
      'ADDRESS_POOL_EMPTY',
      `All addresses of network.addressPool (${pool.join(', ')}) are taken. Add some.`,
    );
  }

  /** Who has an address; undefined when nobody has. */
  async holderOf(address: string, signal: AbortSignal): Promise<string | undefined> {
    const lease = await this.#kube.find(Lease, { namespace: this.#namespace, name: nameOf(address) }, signal);
    return lease?.spec?.holderIdentity;
  }

  /** The address that `holder` has; undefined when it has none. */
  async find(holder: string, signal: AbortSignal): Promise<string | undefined> {
    const [lease] = await this.#of(holder, signal);
    return lease && addressOf(lease);
  }

  /** The claims of Machines of this provider that tell on which system those are made. */
  async placed(
    signal: AbortSignal,
  ): Promise<{ readonly machine: string; readonly address: string; readonly system: string }[]> {
    const labelSelector = `${labels.provider}=${this.#provider},${labels.address}`;
    const { items } = await this.#kube.list(Lease, { namespace: this.#namespace, labelSelector }, signal);
    const prefix = addressHolder.machine('');
    return items.flatMap((lease) => {
      const { holderIdentity: holder = '' } = lease.spec ?? {};
      const system = lease.metadata.annotations?.[annotations.madeOn];
      if (system === undefined || !holder.startsWith(prefix)) return [];
      return [{ machine: holder.slice(prefix.length), address: addressOf(lease), system }];
    });
  }

  /** Gives back what `holder` has. Success when it has nothing. */
  async release(holder: string, signal: AbortSignal): Promise<void> {
    for (const lease of await this.#of(holder, signal)) {
      const options = lease.metadata.uid ? { uid: lease.metadata.uid } : {};
      await this.#kube.remove(Lease, { namespace: this.#namespace, name: lease.metadata.name }, options, signal);
    }
  }

  async #of(holder: string, signal: AbortSignal): Promise<Lease[]> {
    const labelSelector = `${labels.address}=${hash8(holder)}`;
    const { items } = await this.#kube.list(Lease, { namespace: this.#namespace, labelSelector }, signal);
    return items.filter((lease) => lease.spec?.holderIdentity === holder);
  }

  /** False when somebody else was faster. */
  async #create(address: string, holder: string, signal: AbortSignal, madeOn: string | undefined): Promise<boolean> {
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: nameOf(address),
        namespace: this.#namespace,
        labels: { [labels.provider]: this.#provider, [labels.address]: hash8(holder) },
        ...(madeOn === undefined ? {} : { annotations: { [annotations.madeOn]: madeOn } }),
      },
      spec: { holderIdentity: holder },
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

const nameOf = (address: string): string => `talos-address-${address}`;
const addressOf = (lease: Lease): string => lease.metadata.name.replace(/^talos-address-/, '');

/** How the holder of an address is written. */
export const addressHolder = {
  machine: (name: string): string => `machine/${name}`,
  cluster: (cluster: { namespace: string; name: string }): string => `cluster/${cluster.namespace}/${cluster.name}`,
} as const;
