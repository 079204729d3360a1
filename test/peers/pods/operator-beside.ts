import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findPeer, missingPeers } from '../find-peer.ts';
import { type PeerProcess, startPeerProcess } from '../peer-process.ts';
import type { RealPods } from './real-pods.ts';

/** Starts a real openmcp-operator in the network of a cluster with real Pods, beside them. It deploys providers. */
export function startOperatorBeside(
  { enter, kubeconfig }: RealPods,
  { namespace, environment }: { readonly namespace: string; readonly environment: string },
): PeerProcess {
  const path = findPeer('openmcp-operator');
  if (!path) throw new Error(missingPeers('openmcp-operator'));
  const config = join(dirname(kubeconfig), 'operator.json');
  writeFileSync(config, JSON.stringify({ scheduler: { purposeMappings: {} } }));
  const [nsenter = '', ...flags] = enter;
  const words = [
    ...['run', `--environment=${environment}`, `--config=${config}`, `--kubeconfig=${kubeconfig}`],
    ...['--controllers=scheduler,accessrequest,deploymentcontroller', '--health-probe-bind-address=127.0.0.1:8081'],
  ];
  const env = { ...process.env, POD_NAMESPACE: namespace, POD_NAME: 'operator' };
  return startPeerProcess({ path: nsenter, args: [...flags, path, ...words], env });
}
