/**
 * Builds the real programs that the tests compare with into the cache, or finds them, and prints the path of each.
 *
 *     npx tsx test/peers/build.ts [--required-only]
 *
 * A cold build takes some five minutes on two cores; with a warm cache it ends at once. Exits with 1 when
 * kube-apiserver, kube-controller-manager or etcd are missing in the end; all other programs are optional.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { cachePath, findPeer, goModuleVersion, type PeerName, peerNames, peers } from './find-peer.ts';

interface Recipe {
  readonly name: PeerName;
  /** Folder below this one whose `go.mod` builds it. */
  readonly folder: string;
  readonly packagePath: string;
  readonly linkerFlags: string;
  readonly required: boolean;
}

const kubernetesVersion = goModuleVersion('k8s.io/kubernetes');
const [major, minor] = kubernetesVersion.split('.');
const versionPackage = 'k8s.io/component-base/version';
/** Without these the server reports version v0.0.0, which confuses clients that check its version. */
const kubernetesFlags = [
  '-s -w',
  `-X ${versionPackage}.gitVersion=v${kubernetesVersion}`,
  `-X ${versionPackage}.gitMajor=${major}`,
  `-X ${versionPackage}.gitMinor=${minor}`,
].join(' ');

const recipes: readonly Recipe[] = [
  {
    name: 'kube-apiserver',
    folder: '.',
    packagePath: 'k8s.io/kubernetes/cmd/kube-apiserver',
    linkerFlags: kubernetesFlags,
    required: true,
  },
  { name: 'etcd', folder: '.', packagePath: 'go.etcd.io/etcd/server/v3', linkerFlags: '-s -w', required: true },
  {
    name: 'kube-controller-manager',
    folder: '.',
    packagePath: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    linkerFlags: kubernetesFlags,
    required: true,
  },
  // Of a node with real Pods.
  ...(['kubelet', 'kube-scheduler', 'kube-proxy'] as const).map((name) => ({
    name,
    folder: '.',
    packagePath: `k8s.io/kubernetes/cmd/${name}`,
    linkerFlags: kubernetesFlags,
    required: false,
  })),
  {
    name: 'helm',
    folder: 'helm',
    packagePath: 'helm.sh/helm/v4/cmd/helm',
    linkerFlags: `-s -w -X helm.sh/helm/v4/internal/version.version=v${goModuleVersion('helm.sh/helm/v4', 'helm/go.mod')}`,
    required: false,
  },
  {
    name: 'kube-router',
    folder: 'kube-router',
    packagePath: 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router',
    linkerFlags: '-s -w',
    required: false,
  },
  {
    name: 'kubelogin',
    folder: 'kubelogin',
    packagePath: 'github.com/int128/kubelogin',
    linkerFlags: `-s -w -X main.version=v${goModuleVersion('github.com/int128/kubelogin', 'kubelogin/go.mod')}`,
    required: false,
  },
  {
    name: 'etcdutl',
    folder: 'etcd-tools',
    packagePath: 'go.etcd.io/etcd/etcdutl/v3',
    linkerFlags: '-s -w',
    required: false,
  },
  {
    name: 'versitygw',
    folder: 'versitygw',
    packagePath: 'github.com/versity/versitygw/cmd/versitygw',
    linkerFlags: '-s -w',
    required: false,
  },
  {
    name: 'mcr-kubeconfig',
    folder: 'multicluster-runtime',
    packagePath: '.',
    linkerFlags: '-s -w',
    required: false,
  },
  {
    name: 'kubeconfig-secretreader',
    folder: 'multicluster-runtime',
    packagePath: 'sigs.k8s.io/cluster-inventory-api/plugins/kubeconfig-secretreader/cmd/plugin',
    linkerFlags: '-s -w',
    required: false,
  },
  { name: 'argocd-clusters', folder: 'argo-cd', packagePath: '.', linkerFlags: '-s -w', required: false },
  { name: 'age', folder: 'age', packagePath: 'filippo.io/age/cmd/age', linkerFlags: '-s -w', required: false },
  { name: 'talos-snapshot', folder: 'talos-snapshot', packagePath: '.', linkerFlags: '-s -w', required: false },
  ...(['promtool', 'prometheus'] as const).map((name) => ({
    name,
    folder: 'prometheus',
    packagePath: `github.com/prometheus/prometheus/cmd/${name}`,
    linkerFlags: '-s -w',
    required: false,
  })),
];

const environment = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' };
const say = (line: string) => process.stdout.write(`${line}\n`);

function goVersion(): string | undefined {
  const answer = spawnSync('go', ['version'], { encoding: 'utf8', timeout: 30_000 });
  return answer.status === 0 ? answer.stdout.trim() : undefined;
}

function countPackages({ folder, packagePath }: Recipe): number {
  const cwd = join(import.meta.dirname, folder);
  const answer = spawnSync('go', ['list', '-deps', packagePath], {
    cwd,
    env: environment,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return answer.status === 0 ? answer.stdout.split('\n').filter(Boolean).length : 0;
}

/** Runs `go build -v`, which prints one line for each compiled package, and reports the progress. */
async function compile(recipe: Recipe): Promise<void> {
  const target = cachePath(recipe.name);
  const part = `${target}.${process.pid}.part`;
  mkdirSync(dirname(target), { recursive: true });
  const total = countPackages(recipe);
  say(`${recipe.name}: building from its Go module (${total} packages)`);
  const args = ['build', '-v', '-trimpath', '-ldflags', recipe.linkerFlags, '-o', part, recipe.packagePath];
  const child = spawn('go', args, {
    cwd: join(import.meta.dirname, recipe.folder),
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const tail: string[] = [];
  let compiled = 0;
  const progress = setInterval(() => say(`${recipe.name}: ${compiled} packages compiled`), 10_000);
  createInterface({ input: child.stderr }).on('line', (line) => {
    compiled += 1;
    tail.push(line);
    if (tail.length > 20) tail.shift();
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw new Error(`go build of ${recipe.packagePath} ended with ${code}:\n${tail.join('\n')}`);
    renameSync(part, target);
  } finally {
    clearInterval(progress);
    rmSync(part, { force: true });
  }
}

async function buildAll(requiredOnly: boolean): Promise<void> {
  const wanted = recipes.filter(({ name, required }) => (required || !requiredOnly) && findPeer(name) === undefined);
  if (wanted.length === 0) return;
  const go = goVersion();
  if (!go) {
    const names = wanted.map(({ name }) => name).join(', ');
    say(`Go is not installed here, so these cannot be built: ${names}. The tests that need them will be skipped.`);
    return;
  }
  say(go);
  for (const recipe of wanted) {
    const start = Date.now();
    try {
      await compile(recipe);
      say(`${recipe.name}: built in ${Math.round((Date.now() - start) / 1000)} s`);
    } catch (error) {
      say(`${recipe.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

await buildAll(process.argv.includes('--required-only'));
for (const name of peerNames) say(`${name.padEnd(24)} ${findPeer(name) ?? `missing: ${peers[name].remedy}`}`);
process.exitCode = recipes.some(({ name, required }) => required && findPeer(name) === undefined) ? 1 : 0;
