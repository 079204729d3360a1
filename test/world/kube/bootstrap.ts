import type { Storage } from './store.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** Fills a new "etcd" with what every cluster begins with. Does nothing to one that was filled before. */
export function bootstrap(storage: Storage): void {
  if (storage.read('namespaces', undefined, 'kube-system')) return;
  for (const name of namespaces) {
    storage.put({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }
}
