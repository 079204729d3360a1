import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PeerProcess } from '../peer-process.ts';
import type { RealPods } from './real-pods.ts';
import { startPeerBeside } from './start-beside.ts';

/** Starts a real openmcp-operator in the network of a cluster with real Pods, beside them. It deploys providers. */
export function startOperatorBeside(
  pods: RealPods,
  { namespace, environment }: { readonly namespace: string; readonly environment: string },
): PeerProcess {
  const config = join(dirname(pods.kubeconfig), 'operator.json');
  writeFileSync(config, JSON.stringify({ scheduler: { purposeMappings: {} } }));
  const words = [
    ...['run', `--environment=${environment}`, `--config=${config}`, `--kubeconfig=${pods.kubeconfig}`],
    ...['--controllers=scheduler,accessrequest,deploymentcontroller', '--health-probe-bind-address=127.0.0.1:8081'],
  ];
  const env = { ...process.env, POD_NAMESPACE: namespace, POD_NAME: 'operator' };
  return startPeerBeside(pods, 'openmcp-operator', words, env);
}
