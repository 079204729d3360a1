import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A real program that the tests use if it is available. */
export interface PeerProgram {
  /** Name of the executable. */
  readonly program: string;
  /** The environment variable with its path. It takes precedence over the cache and PATH. */
  readonly variable: string;
  /** Folder below the cache, keyed by version. `build.ts` or a user fills it. */
  readonly folder: string;
  /** How to get it, as the end of a sentence. */
  readonly remedy: string;
}

const here = import.meta.dirname;
const machine = `${process.platform}-${process.arch}`;

/** The version of `module` that a `go.mod` of this folder requires, e.g. `1.36.3`: the single source of versions. */
export function goModuleVersion(module: string, goMod = 'go.mod'): string {
  const text = readFileSync(join(here, goMod), 'utf8');
  const line = text.split('\n').find((candidate) =>
    candidate
      .trim()
      .replace(/^require /, '')
      .startsWith(`${module} v`),
  );
  const version = line?.split(` v`)[1]?.split(' ')[0];
  if (!version) throw new Error(`test/peers/${goMod} does not require ${module}`);
  return version.trim();
}

const kubernetes = `kubernetes-${goModuleVersion('k8s.io/kubernetes')}-etcd-${goModuleVersion('go.etcd.io/etcd/server/v3')}-${machine}`;
const helm = `helm-${goModuleVersion('helm.sh/helm/v4', 'helm/go.mod')}-${machine}`;
const kubelogin = `kubelogin-${goModuleVersion('github.com/int128/kubelogin', 'kubelogin/go.mod')}-${machine}`;
const etcdutl = `etcdutl-${goModuleVersion('go.etcd.io/etcd/etcdutl/v3', 'etcd-tools/go.mod')}-${machine}`;
const versitygw = `versitygw-${goModuleVersion('github.com/versity/versitygw', 'versitygw/go.mod')}-${machine}`;
const age = `age-${goModuleVersion('filippo.io/age', 'age/go.mod')}-${machine}`;
const talosSnapshot = `talos-snapshot-grpc-${goModuleVersion('google.golang.org/grpc', 'talos-snapshot/go.mod')}-${machine}`;
const prometheus = `prometheus-${goModuleVersion('github.com/prometheus/prometheus', 'prometheus/go.mod')}-${machine}`;
const multicluster = `multicluster-runtime-${goModuleVersion('sigs.k8s.io/multicluster-runtime', 'multicluster-runtime/go.mod')}-${machine}`;
const argoCd = `argo-cd-${goModuleVersion('github.com/argoproj/argo-cd/v3', 'argo-cd/go.mod')}-${machine}`;
const kubeRouter = `kube-router-${goModuleVersion('github.com/cloudnativelabs/kube-router/v2', 'kube-router/go.mod')}-${machine}`;
const buildRemedy = '`npx tsx test/peers/build.ts` builds it where Go is installed';
const externalRemedy = (variable: string, origin: string) => `set ${variable} to ${origin}`;

export const peers = {
  'kube-apiserver': {
    program: 'kube-apiserver',
    variable: 'KUBE_APISERVER_BIN',
    folder: kubernetes,
    remedy: buildRemedy,
  },
  'kube-controller-manager': {
    program: 'kube-controller-manager',
    variable: 'KUBE_CONTROLLER_MANAGER_BIN',
    folder: kubernetes,
    remedy: buildRemedy,
  },
  kubelet: { program: 'kubelet', variable: 'KUBELET_BIN', folder: kubernetes, remedy: buildRemedy },
  'kube-scheduler': {
    program: 'kube-scheduler',
    variable: 'KUBE_SCHEDULER_BIN',
    folder: kubernetes,
    remedy: buildRemedy,
  },
  'kube-proxy': { program: 'kube-proxy', variable: 'KUBE_PROXY_BIN', folder: kubernetes, remedy: buildRemedy },
  'kube-router': { program: 'kube-router', variable: 'KUBE_ROUTER_BIN', folder: kubeRouter, remedy: buildRemedy },
  etcd: { program: 'etcd', variable: 'ETCD_BIN', folder: kubernetes, remedy: buildRemedy },
  'openmcp-operator': {
    program: 'openmcp-operator',
    variable: 'OPENMCP_OPERATOR_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('OPENMCP_OPERATOR_BIN', 'the program out of its container image'),
  },
  talosctl: {
    program: 'talosctl',
    variable: 'TALOSCTL_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('TALOSCTL_BIN', 'a talosctl of version 1.13'),
  },
  'talosctl-1.14': {
    program: 'talosctl-1.14',
    variable: 'TALOSCTL_1_14_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('TALOSCTL_1_14_BIN', 'a talosctl of version 1.14'),
  },
  helm: { program: 'helm', variable: 'HELM_BIN', folder: helm, remedy: buildRemedy },
  // kubectl finds its plug-ins by such names.
  kubelogin: { program: 'kubectl-oidc_login', variable: 'KUBELOGIN_BIN', folder: kubelogin, remedy: buildRemedy },
  etcdutl: { program: 'etcdutl', variable: 'ETCDUTL_BIN', folder: etcdutl, remedy: buildRemedy },
  versitygw: { program: 'versitygw', variable: 'VERSITYGW_BIN', folder: versitygw, remedy: buildRemedy },
  age: { program: 'age', variable: 'AGE_BIN', folder: age, remedy: buildRemedy },
  'talos-snapshot': {
    program: 'talos-snapshot',
    variable: 'TALOS_SNAPSHOT_BIN',
    folder: talosSnapshot,
    remedy: buildRemedy,
  },
  promtool: { program: 'promtool', variable: 'PROMTOOL_BIN', folder: prometheus, remedy: buildRemedy },
  prometheus: { program: 'prometheus', variable: 'PROMETHEUS_BIN', folder: prometheus, remedy: buildRemedy },
  kubectl: {
    program: 'kubectl',
    variable: 'KUBECTL_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('KUBECTL_BIN', 'a kubectl'),
  },
  'cluster-autoscaler': {
    program: 'cluster-autoscaler',
    variable: 'CLUSTER_AUTOSCALER_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('CLUSTER_AUTOSCALER_BIN', 'the program out of its container image, of version 1.36'),
  },
  'mcr-kubeconfig': {
    program: 'mcr-kubeconfig',
    variable: 'MCR_KUBECONFIG_BIN',
    folder: multicluster,
    remedy: buildRemedy,
  },
  'kubeconfig-secretreader': {
    program: 'kubeconfig-secretreader',
    variable: 'KUBECONFIG_SECRETREADER_BIN',
    folder: multicluster,
    remedy: buildRemedy,
  },
  'argocd-clusters': {
    program: 'argocd-clusters',
    variable: 'ARGOCD_CLUSTERS_BIN',
    folder: argoCd,
    remedy: buildRemedy,
  },
  'mcr-inventory': {
    program: 'mcr-inventory',
    variable: 'MCR_INVENTORY_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('MCR_INVENTORY_BIN', 'examples/cluster-inventory-api of multicluster-runtime, as a program'),
  },
  kueue: {
    program: 'kueue',
    variable: 'KUEUE_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('KUEUE_BIN', 'the program out of its container image'),
  },
  ocm: {
    program: 'ocm',
    variable: 'OCM_BIN',
    folder: `tools-${machine}`,
    remedy: externalRemedy('OCM_BIN', 'the command line of the Open Component Model, of version 0.48 or newer'),
  },
  chromium: {
    program: 'chromium',
    variable: 'CHROMIUM_BIN',
    folder: `tools-${machine}`,
    remedy: 'install it (Debian: chromium), or set CHROMIUM_BIN',
  },
  'qemu-system-x86_64': {
    program: 'qemu-system-x86_64',
    variable: 'QEMU_BIN',
    folder: `tools-${machine}`,
    remedy: 'install it (Debian: qemu-system-x86), or set QEMU_BIN',
  },
} as const satisfies Record<string, PeerProgram>;
export type PeerName = keyof typeof peers;
export const peerNames = Object.keys(peers) as PeerName[];

/**
 * The cache of peers between runs: outside of the tree, so that a clean checkout on a prepared machine builds nothing.
 */
export function cacheFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'cluster-provider-talos', 'peers');
}

/** The path of `name` in the cache, whether or not it exists. */
export function cachePath(name: PeerName): string {
  return join(cacheFolder(), peers[name].folder, peers[name].program);
}

/**
 * The path of a peer, or undefined when this machine has none. Throws when its variable names a file that is not
 * executable.
 */
export function findPeer(name: PeerName): string | undefined {
  const { program, variable } = peers[name];
  const named = process.env[variable];
  if (named) {
    if (!isProgram(named)) throw new Error(`${variable} names ${named}, which is not a program that can be run.`);
    return named;
  }
  const inPath = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return [cachePath(name), ...inPath.map((folder) => join(folder, program))].find(isProgram);
}

/** One sentence for a test that is skipped because these peers are missing; undefined when all are available. */
export function missingPeers(...names: PeerName[]): string | undefined {
  const missing = names.filter((name) => findPeer(name) === undefined);
  if (missing.length === 0) return undefined;
  const remedies = [...new Set(missing.map((name) => peers[name].remedy))];
  return `${missing.join(', ')} not found: ${remedies.join('; ')}.`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
