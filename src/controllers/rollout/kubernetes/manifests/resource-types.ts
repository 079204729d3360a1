import type { KubeClient } from '../../../../kube/client/client.ts';
import { isNotFound } from '../../../../kube/errors.ts';
import type { ResourceType } from '../../../../kube/resource.ts';
import { isRecord } from '../../../../talos/config/config-document.ts';
import type { ObjectId } from './inventory.ts';

/** The REST locations of the kinds of a cluster, from its discovery documents, each read once. */
export class ResourceTypes {
  readonly #client: Pick<KubeClient, 'raw'>;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, Promise<readonly ResourceType[]>>();

  constructor(client: Pick<KubeClient, 'raw'>, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Undefined when the cluster does not have the kind, e.g. because its definition was not applied yet. */
  async find(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    return (await this.#list(apiVersion)).find((type) => type.kind === kind);
  }

  /** The kind in the version that the API server prefers. */
  async findByGroup({ group, kind }: Pick<ObjectId, 'group' | 'kind'>): Promise<ResourceType | undefined> {
    if (group === '') return await this.find('v1', kind);
    const found = await this.#read(`/apis/${group}`);
    const preferred = isRecord(found) && isRecord(found['preferredVersion']) ? found['preferredVersion'] : {};
    const apiVersion = preferred['groupVersion'];
    return typeof apiVersion === 'string' ? await this.find(apiVersion, kind) : undefined;
  }

  #list(apiVersion: string): Promise<readonly ResourceType[]> {
    const known = this.#known.get(apiVersion) ?? this.#load(apiVersion);
    this.#known.set(apiVersion, known);
    return known;
  }

  async #load(apiVersion: string): Promise<readonly ResourceType[]> {
    const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const found = await this.#read(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
    const resources = isRecord(found) && Array.isArray(found['resources']) ? found['resources'].filter(isRecord) : [];
    return resources
      .map(({ name, kind, namespaced }) => ({
        ...{ group, version, kind: String(kind), plural: String(name), namespaced: namespaced === true },
      }))
      .filter(({ plural }) => !plural.includes('/'));
  }

  async #read(path: string): Promise<unknown> {
    try {
      return await this.#client.raw<unknown>('GET', path, undefined, this.#signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
