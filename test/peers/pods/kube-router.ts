import { missingPeers } from '../find-peer.ts';
import type { PeerProcess } from '../peer-process.ts';
import { isInPath } from './find-programs.ts';
import { nodeName } from './node-files.ts';
import type { RealPods } from './real-pods.ts';
import { startPeerBeside } from './start-beside.ts';

/** Programs of the operating system that kube-router calls. */
const programs = ['ipset', 'iptables', 'iptables-save', 'iptables-restore'];

/** Why NetworkPolicies cannot be enforced for real Pods, in one sentence; undefined when they can. */
export function missingForNetworkPolicies(): string | undefined {
  const missing = programs.filter((name) => !isInPath(name));
  if (missing.length > 0)
    return `kube-router needs ${missing.join(', ')} (Debian: apt-get install --no-install-recommends iptables ipset).`;
  return missingPeers('kube-router');
}

/** Starts kube-router in the network of a cluster with real Pods, for nothing but NetworkPolicies. It ends with it. */
export function startKubeRouterBeside(pods: RealPods): PeerProcess {
  return startPeerBeside(pods, 'kube-router', [
    ...['--run-firewall=true', '--run-router=false', '--run-service-proxy=false'],
    ...[`--kubeconfig=${pods.kubeconfig}`, `--hostname-override=${nodeName}`, '--metrics-port=0'],
  ]);
}
