/**
 * A Kubernetes with one node: etcd, API server, controllers, scheduler, kube-proxy, containerd and kubelet. It is the
 * first process of namespaces of its own, so that its end ends all of them. Prints one line of JSON once the node is
 * ready.
 *
 *     node-script.ts FOLDER CGROUP PAUSE_IMAGE IMAGE_ARCHIVE
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPeer, type PeerName } from '../find-peer.ts';
import { startRealKube } from '../kube-apiserver.ts';
import { awaitPeerReady, type PeerProcess, startPeerProcess } from '../peer-process.ts';
import { findPluginFolder } from './find-programs.ts';
import { containerdSocket, nodeFiles, nodeName, podNetwork } from './node-files.ts';

const execute = promisify(execFile);
const [folder = '', cgroup = '', pauseImage = '', archive = ''] = process.argv.slice(2);

const shell = async (lines: readonly string[]): Promise<void> => {
  await execute('sh', ['-ec', lines.join('\n')]);
};
const succeeds = async (program: string, words: readonly string[]): Promise<boolean> =>
  await execute(program, [...words], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
const start = (name: PeerName, ...args: string[]): PeerProcess =>
  startPeerProcess({ path: findPeer(name) ?? name, args, folder });

async function prepareMachine(): Promise<void> {
  await shell([
    // What these programs leave in folders of the system ends with the namespace.
    'for path in /run /var/log /var/lib/cni; do mkdir -p $path; mount -t tmpfs tmpfs $path; done',
    `hostname ${nodeName}`,
    'ip link set lo up',
    'ip link add node0 type veth peer name node1',
    `ip address add ${podNetwork.node}/24 dev node0`,
    'ip link set node1 up',
    'ip link set node0 up',
    'ip route add default dev node0',
    `ip route add local ${podNetwork.machines} dev lo`,
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
  ]);
  const files = nodeFiles({ folder, cgroup, pauseImage, pluginFolder: findPluginFolder() ?? '' });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

async function startContainerd(): Promise<void> {
  const socket = containerdSocket(folder);
  const args = [`--config=${join(folder, 'containerd.toml')}`, '--log-level=warn'];
  const containerd = startPeerProcess({ path: 'containerd', args, folder });
  await awaitPeerReady('containerd', containerd, 60, () => succeeds('ctr', [`--address=${socket}`, 'version']));
  await execute('ctr', [`--address=${socket}`, '--namespace=k8s.io', 'images', 'import', archive], {
    timeout: 300_000,
  });
}

async function startNode(kubeconfig: string): Promise<void> {
  start('kube-scheduler', `--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0');
  start(
    'kube-proxy',
    ...[`--kubeconfig=${kubeconfig}`, `--hostname-override=${nodeName}`, `--cluster-cidr=${podNetwork.pods}`],
    ...['--proxy-mode=nftables', '--conntrack-max-per-core=0'],
  );
  const kubelet = start(
    'kubelet',
    ...[`--kubeconfig=${kubeconfig}`, `--config=${join(folder, 'kubelet.yaml')}`],
    ...[`--root-dir=${join(folder, 'kubelet')}`, `--cert-dir=${join(folder, 'kubelet/pki')}`],
    ...[`--hostname-override=${nodeName}`, `--node-ip=${podNetwork.node}`],
  );
  const ready = ['wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=5s'];
  await awaitPeerReady('kubelet', kubelet, 120, () =>
    succeeds(findPeer('kubectl') ?? 'kubectl', [`--kubeconfig=${kubeconfig}`, ...ready]),
  );
}

// Also if the test that started this was killed itself.
process.stdin.resume().once('end', () => process.exit());
await prepareMachine();
const [kube] = await Promise.all([
  startRealKube({
    host: podNetwork.node,
    controllers: true,
    addresses: [podNetwork.apiServerService],
    apiServerArguments: ['--kubelet-preferred-address-types=InternalIP'],
  }),
  startContainerd(),
]);
await startNode(kube.kubeconfigPath);
process.stdout.write(`${JSON.stringify({ kubeconfig: kube.kubeconfigPath })}\n`);
