import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { objectPath } from '../../../../src/kube/client/resource-paths.ts';
import { formatObjectKey, type KubeObject, objectKeyOf, type ResourceType } from '../../../../src/kube/resource.ts';
import type { ApiObject } from '../../kube/storage/store.ts';
import type { PodAccess } from '../kubernetes/run-pods.ts';

const Pod: ResourceType<KubeObject & { status?: object }> = {
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
};

/** Between two attempts of a write that the server did not accept. */
const retryMilliseconds = 500;

/** The Pods of a real API server, for the kubelets of the simulated nodes. */
export class ServerPods {
  readonly #pods = new Map<string, ApiObject>();
  readonly #listeners = new Set<() => void>();
  #client: KubeClient | undefined;

  /** Begins anew with the server of this client; its list follows. */
  connect(client: KubeClient | undefined): void {
    this.#client = client;
    this.#pods.clear();
  }

  took(kind: string, pod: KubeObject): void {
    const key = formatObjectKey(objectKeyOf(pod));
    if (kind === 'deleted') this.#pods.delete(key);
    else this.#pods.set(key, { ...pod });
    this.#emit();
  }

  accessOf(nodeName: string): PodAccess {
    const isOwn = (pod: ApiObject): boolean =>
      (pod['spec'] as { nodeName?: string } | undefined)?.nodeName === nodeName;
    return {
      list: () => [...this.#pods.values()].filter(isOwn),
      onChange: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      writeStatus: (pod, status) =>
        this.#write((client) => client.merge(Pod, objectKeyOf(pod), { status }, { subresource: 'status' })),
      remove: (pod) =>
        this.#write((client) =>
          client.raw('DELETE', objectPath(Pod, objectKeyOf(pod)), {
            ...{ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
            preconditions: { uid: pod.metadata.uid },
          }),
        ),
    };
  }

  /** The kubelets decide again after a failure, as after a change. */
  #write(write: (client: KubeClient) => Promise<unknown>): void {
    if (!this.#client) return;
    write(this.#client).catch(() => setTimeout(() => this.#emit(), retryMilliseconds).unref());
  }

  #emit(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
