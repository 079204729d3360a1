import { createPrivateKey } from 'node:crypto';
import { startKubeServer } from '../../kube/server.ts';
import { acceptedKubernetesCas } from '../certificates/accepted-authorities.ts';
import { issueKubeApiServerCertificate } from '../certificates/node-certificates.ts';
import { decodePem } from '../certificates/pki.ts';
import { kubernetesVersion } from '../kubernetes/component-image.ts';
import type { TalosNode } from '../node.ts';
import { trustedIssuers } from './trusted-issuers.ts';
import type { WorkloadBackend } from './workload.ts';

/**
 * The simulated API server on the store of the cluster, with the PKI of the configuration and the flags that it
 * supports.
 */
export const simulatedWorkload: WorkloadBackend = {
  start: async (node, cluster) => {
    const options = { ...(await apiServerOptionsOf(node)), store: cluster.store };
    const servers = await Promise.all(node.addresses.map((host) => startKubeServer({ ...options, host })));
    const close = async () => void (await Promise.all(servers.map((server) => server.close())));
    let ended: string | undefined;
    return {
      get ended() {
        return ended;
      },
      crash: async () => {
        ended = 'it was made to crash';
        await close();
      },
      close,
    };
  },
  close: async () => {},
};

async function apiServerOptionsOf(node: TalosNode) {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  const { kubernetes } = view;
  const serving = await issueKubeApiServerCertificate(node);
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
  return {
    port: kubernetes.apiPort,
    serving,
    clientCa: acceptedKubernetesCas(node).join('\n'),
    serviceAccount: {
      privateKey: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
      issuer: issuers[0] ?? view.endpoint,
      audiences: audiences.flatMap((one) => one.split(',')),
    },
    ...(kubernetes.bootstrapToken === '' ? {} : { tokens }),
    oidc: trustedIssuers(node, issuers),
    anonymousAuth: kubernetes.apiServerArgs['anonymous-auth']?.[0] === 'true',
    gitVersion: `v${kubernetesVersion(node, 'apiServer')}`,
    requestedApis: () => node.world.requestedApis,
    switchboard: node.world.switchboard,
    simulator: 'workload',
    workloads: true,
  };
}
