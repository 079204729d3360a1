import { createPrivateKey } from 'node:crypto';
import { startKube } from '../kube/server.ts';
import { kubeLeaf } from './certificates.ts';
import type { EtcdCluster } from './etcd.ts';
import { putStaticPods } from './kube-objects.ts';
import type { Node } from './node.ts';
import { decodePem, openAuthority } from './pki.ts';
import { timings } from './timings.ts';

/** Kubernetes of each Talos minor, for images that the configuration leaves out. */
export const defaultKubernetes: Readonly<Record<number, string>> = {
  11: '1.34.1',
  12: '1.35.4',
  13: '1.36.3',
  14: '1.37.0-rc.0',
};

/** Kubernetes version of a component on this node, without `v`. */
export function kubernetesVersion(
  node: Node,
  component: 'kubelet' | 'apiServer' | 'controllerManager' | 'scheduler',
): string {
  return node.config?.view.kubernetes.images[component] || (defaultKubernetes[node.minor] ?? '1.36.3');
}

/** What the static pod of kube-apiserver is rendered from: when it changes, the pod is made anew. */
const apiServerSpec = (node: Node): string => {
  const view = node.config?.view;
  const {
    kubelet: _kubelet,
    labels: _labels,
    annotations: _annotations,
    taints: _taints,
    ...rest
  } = view?.kubernetes ?? {};
  return JSON.stringify([rest, view?.endpoint]);
};

/**
 * The static pods of a control plane: kube-apiserver comes up once etcd is healthy, with exactly the PKI and flags of the configuration, and is
 * restarted when they change.
 */
export async function runApiServer(node: Node): Promise<void> {
  let running: { readonly spec: string; close(): Promise<void> } | undefined;
  node.onClose(async () => running?.close());
  for (;;) {
    const spec = apiServerSpec(node);
    if (running && running.spec !== spec) {
      node.staticPodsReady = false;
      node.refreshStatus();
      await running.close();
      running = undefined;
    }
    if (!running && node.etcd) {
      await node.sleep(timings.apiServer);
      const server = await start(node);
      if (server) {
        running = { spec, close: server };
        if (node.signal.aborted) return server();
        putStaticPods(node);
        node.staticPodsReady = true;
        node.refreshStatus();
        node.world.changed();
      }
    }
    await node.sleep(timings.poll);
  }
}

async function start(node: Node): Promise<(() => Promise<void>) | undefined> {
  const cluster = node.etcd?.cluster;
  if (!cluster) return undefined;
  try {
    return await serve(node, cluster);
  } catch (error) {
    node.log(`kube-apiserver: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function serve(node: Node, cluster: EtcdCluster): Promise<() => Promise<void>> {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  const { kubernetes } = view;
  const authority = await openAuthority(kubernetes.ca.crt, kubernetes.ca.key);
  const serving = await kubeLeaf(node);
  const issuers = kubernetes.apiServerArgs['service-account-issuer'] ?? [
    kubernetes.serviceAccount.issuer || view.endpoint,
  ];
  const audiences = kubernetes.apiServerArgs['api-audiences'] ?? [view.endpoint];
  const key = createPrivateKey(decodePem(kubernetes.serviceAccount.key));
  const tokens = {
    [kubernetes.bootstrapToken]: {
      user: `system:bootstrap:${kubernetes.bootstrapToken.split('.')[0]}`,
      groups: ['system:bootstrappers', 'system:bootstrappers:nodes'],
    },
  };
  const options = {
    port: kubernetes.apiPort,
    store: cluster.store,
    serving,
    clientCa: authority.pem,
    serviceAccount: {
      privateKey: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
      issuer: issuers[0] ?? view.endpoint,
      audiences: audiences.flatMap((one) => one.split(',')),
    },
    ...(kubernetes.bootstrapToken === '' ? {} : { tokens }),
    anonymousAuth: kubernetes.apiServerArgs['anonymous-auth']?.[0] === 'true',
    gitVersion: `v${kubernetesVersion(node, 'apiServer')}`,
    switchboard: node.world.switchboard,
    room: 'workload',
  };
  const servers = await Promise.all(node.addresses.map((host) => startKube({ ...options, host })));
  const places = node.addresses.map((host) => `${host}:${kubernetes.apiPort}`);
  for (const place of places) node.world.apiServers.set(place, cluster);
  return async () => {
    for (const place of places) node.world.apiServers.delete(place);
    await Promise.all(servers.map((server) => server.close()));
  };
}
