import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { missingPeers } from '../find-peer.ts';

/** Programs of the operating system that run containers. */
const programs = ['containerd', 'ctr', 'runc', 'dockerd', 'docker', 'nft', 'ip', 'unshare', 'nsenter', 'flock', 'ldd'];
const packages = 'docker.io nftables containernetworking-plugins iproute2 util-linux';

/** Where distributions and container engines install CNI plug-ins. `CNI_PLUGINS` names another folder. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const plugins = ['ptp', 'host-local', 'loopback'];

/** The folder with the CNI plug-ins, or undefined. */
export function findPluginFolder(): string | undefined {
  const named = process.env['CNI_PLUGINS'];
  return (named ? [named] : pluginFolders).find((folder) => plugins.every((name) => existsSync(join(folder, name))));
}

/** Why no real Pods can run here, in one sentence; undefined when they can. */
export function missingForPods(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'Real Pods need Linux on x86-64.';
  if (process.getuid?.() !== 0) return 'Real Pods need root: run this as root.';
  const missing = programs.filter((name) => !isInPath(name));
  if (missing.length > 0) return `Real Pods need ${missing.join(', ')} (Debian: apt-get install ${packages}).`;
  if (!findPluginFolder())
    return `Real Pods need the CNI plug-ins ${plugins.join(', ')} (Debian: containernetworking-plugins), or CNI_PLUGINS.`;
  if (cgroupHierarchies().length === 0)
    return 'Real Pods need cgroup v1 with the hierarchies cpuset and memory: version 2 has not been tried.';
  return missingPeers(
    ...(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubelet', 'kube-scheduler', 'kube-proxy'] as const),
    ...(['helm', 'kubectl'] as const),
  );
}

const cgroups = '/sys/fs/cgroup';

/** The mounted hierarchies of cgroup v1; none if this process may not add groups to them. */
export function cgroupHierarchies(): readonly string[] {
  if (!existsSync(cgroups)) return [];
  const all = readdirSync(cgroups, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(cgroups, name));
  const needed = ['cpuset', 'memory'].map((name) => join(cgroups, name));
  return needed.every((path) => all.includes(path) && isWritable(path)) ? all.filter(isWritable) : [];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export const isInPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, program)));
