import { Machine } from '../../../../src/api/machine.ts';
import { annotations, clusterProfileName, group, openmcpGroup, version } from '../../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { Namespace, Secret } from '../../../../src/kube/core-types.ts';
import { isAlreadyExists } from '../../../../src/kube/errors.ts';
import type { KubeObject, ObjectKey, ObjectMeta, ResourceType } from '../../../../src/kube/resource.ts';
import type { RawProviderConfigSpec } from '../../../support/arbitrary/provider-config.ts';
import type { SimulatorAccess } from '../../../world/simulator.ts';

export type { RawProviderConfigSpec } from '../../../support/arbitrary/provider-config.ts';

/** The testbed's values for its objects. */
export interface TestObjectDefaults {
  readonly subnet: string;
  /** The provider's own namespace. */
  readonly namespace: string;
  readonly environment: string;
  readonly truenas: SimulatorAccess;
  /** PEM of the TrueNAS system's authority. */
  readonly caBundle: string;
  readonly factoryUrl: string;
}

export interface ProviderConfigOverrides {
  readonly provider?: string;
  readonly controlPlanes?: number;
  readonly workers?: number;
  /** Last numbers of the first and last address; default: the whole range of the testbed. */
  readonly pool?: readonly [number, number];
  /** Edits the raw spec, to make it invalid. */
  readonly change?: (spec: RawProviderConfigSpec) => void;
}

/** Name of the Secret with the key to the testbed's TrueNAS system. */
export const truenasCredentialsName = 'truenas';

/** Objects as users write them, with short methods to create, read and delete them. */
export class TestObjects {
  readonly #kube: KubeClient;
  readonly #at: TestObjectDefaults;

  constructor(kube: KubeClient, at: TestObjectDefaults) {
    this.#kube = kube;
    this.#at = at;
  }

  profileOf(config: string, provider = 'talos'): string {
    return clusterProfileName(this.#at.environment, provider, config);
  }

  /** The Secret with the API key; `data` replaces its content. */
  async credentials(
    name = truenasCredentialsName,
    data: Record<string, string> = this.goodCredentials(),
  ): Promise<void> {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    const { namespace } = this.#at;
    await this.#kube.apply(
      Secret,
      { metadata: { namespace, name }, data: Object.fromEntries(encoded) },
      { force: true },
    );
  }

  goodCredentials(): { username: string; apiKey: string } {
    const { user = '', apiKey = '' } = this.#at.truenas.credentials;
    return { username: user, apiKey };
  }

  /** The spec of a valid ProviderConfig as a user writes it. */
  configSpec(words: ProviderConfigOverrides = {}): RawProviderConfigSpec {
    const { subnet, truenas, caBundle, factoryUrl } = this.#at;
    const [first, last] = words.pool ?? [10, 99];
    const spec: RawProviderConfigSpec = {
      providerRef: { name: words.provider ?? 'talos' },
      talos: { version: '1.13.9', factoryUrl, extensions: ['siderolabs/qemu-guest-agent'] },
      kubernetes: { versions: [{ version: '1.35.4' }, { version: '1.34.7', deprecated: true }] },
      controlPlane: { replicas: words.controlPlanes ?? 1, size: 'small' },
      network: {
        addressPool: [`${subnet}.${first}-${subnet}.${last}`],
        prefix: 24,
        gateway: `${subnet}.1`,
        nameServers: [`${subnet}.1`],
      },
      truenas: {
        url: truenas.url,
        caBundle,
        credentialsRef: { name: truenasCredentialsName },
        pool: 'tank',
        bridge: 'br0',
        sizes: [{ name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20 }],
      },
    };
    if (words.workers) spec.workerPools = [{ name: 'work', replicas: words.workers, size: 'small' }];
    words.change?.(spec);
    return spec;
  }

  async config(name: string, words: ProviderConfigOverrides = {}): Promise<ProviderConfig> {
    return await this.#kube.create(ProviderConfig, {
      apiVersion: `${group}/${version}`,
      kind: 'ProviderConfig',
      metadata: { name },
      spec: this.configSpec(words) as unknown as ProviderConfig['spec'],
    });
  }

  async cluster(
    ref: NamespacedRef,
    spec: Partial<Cluster['spec']> & { config?: string } = {},
    metadata: Partial<ObjectMeta> = {},
  ): Promise<Cluster> {
    await this.ensureNamespace(ref.namespace);
    const { config = 'home', ...rest } = spec;
    return await this.#kube.create(Cluster, {
      apiVersion: `${openmcpGroup}/v1alpha1`,
      kind: 'Cluster',
      metadata: { ...metadata, ...ref },
      spec: { profile: this.profileOf(config), tenancy: 'Exclusive', ...rest },
    });
  }

  /** A request beside its Cluster; `spec` may name another. */
  async request(ref: NamespacedRef, spec: AccessRequest['spec']): Promise<AccessRequest> {
    await this.ensureNamespace(ref.namespace);
    return await this.#kube.create(AccessRequest, {
      apiVersion: `${openmcpGroup}/v1alpha1`,
      kind: 'AccessRequest',
      metadata: { ...ref },
      spec,
    });
  }

  async ensureNamespace(name: string): Promise<void> {
    try {
      await this.#kube.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  getConfig(name: string): Promise<ProviderConfig> {
    return this.#kube.get(ProviderConfig, { name });
  }
  getCluster(ref: NamespacedRef): Promise<Cluster> {
    return this.#kube.get(Cluster, ref);
  }
  getRequest(ref: NamespacedRef): Promise<AccessRequest> {
    return this.#kube.get(AccessRequest, ref);
  }

  /** The Machines of a Cluster, or all of them. */
  async machines(ref?: NamespacedRef): Promise<Machine[]> {
    const { items } = await this.#kube.list(Machine);
    const isOf = ({ spec }: Machine): boolean =>
      !ref || (spec.clusterRef.name === ref.name && spec.clusterRef.namespace === ref.namespace);
    return items.filter(isOf);
  }

  async exists(type: ResourceType, key: ObjectKey): Promise<boolean> {
    return (await this.#kube.find(type, key)) !== undefined;
  }

  async remove(type: ResourceType<KubeObject>, key: ObjectKey): Promise<void> {
    await this.#kube.remove(type, key);
  }

  /**
   * Removes the Machine's finalizers, as an unaware user does: the Machine is gone at once, and its resources are not
   * released.
   */
  async removeByForce(name: string): Promise<void> {
    const metadata = { finalizers: null, annotations: { [annotations.approve]: 'LastControlPlane' } };
    await this.#kube.merge(Machine, { name }, { metadata });
    await this.#kube.remove(Machine, { name });
  }

  async annotate(type: ResourceType<KubeObject>, key: ObjectKey, notes: Record<string, string | null>): Promise<void> {
    await this.#kube.merge(type, key, { metadata: { annotations: notes } });
  }
}
