import { join } from 'node:path';

export const nodeName = 'tests';

/** The network of a node with real Pods, in a network namespace of its own. */
export const podNetwork = {
  node: '192.168.76.1',
  /** The first address of the range of Services that `startRealKube` sets. */
  apiServerService: '10.96.0.1',
  pods: '10.244.0.0/24',
  /** Addresses that any process in the namespace may listen at: simulated machines. */
  machines: '192.168.77.0/24',
} as const;

/** What the files of a node depend on. */
export interface NodeSettings {
  /** Parent of all files and data. */
  readonly folder: string;
  /** Below the hierarchies of the kernel. */
  readonly cgroup: string;
  /** The image that holds the namespaces of a Pod. */
  readonly pauseImage: string;
  readonly pluginFolder: string;
}

/** Files of containerd, CNI and kubelet, by their path in the folder. */
export function nodeFiles(settings: NodeSettings): Readonly<Record<string, string>> {
  return {
    'containerd.toml': containerdConfig(settings),
    'cni/10-pods.conflist': JSON.stringify(networkConfig(settings)),
    // JSON is YAML.
    'kubelet.yaml': JSON.stringify(kubeletConfig(settings)),
    'resolv.conf': '',
  };
}

export const containerdSocket = (folder: string): string => join(folder, 'containerd.sock');

function containerdConfig({ folder, pauseImage, pluginFolder }: NodeSettings): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const at = (name: string) => JSON.stringify(join(folder, name));
  return `version = 2
root = ${at('containerd/root')}
state = ${at('containerd/state')}

[grpc]
address = ${JSON.stringify(containerdSocket(folder))}

[${cri}]
sandbox_image = "docker.io/library/${pauseImage}"
stream_server_address = "127.0.0.1"
# Root of a container may lack the right to lower the value of a process.
restrict_oom_score_adj = true

[${cri}.cni]
bin_dir = ${JSON.stringify(pluginFolder)}
conf_dir = ${at('cni')}

[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`;
}

/** Each Pod has a link of its own to the node. On a bridge, replies of a Service would need br_netfilter. */
const networkConfig = ({ folder }: NodeSettings) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'ptp',
      ipMasq: false,
      ipam: {
        type: 'host-local',
        dataDir: join(folder, 'addresses'),
        ranges: [[{ subnet: podNetwork.pods }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
});

const kubeletConfig = ({ folder, cgroup }: NodeSettings) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: podNetwork.node,
  // The API server calls it for logs, without a certificate. Nobody else is in this network but the Pods.
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  readOnlyPort: 0,
  containerRuntimeEndpoint: `unix://${containerdSocket(folder)}`,
  resolvConf: join(folder, 'resolv.conf'),
  podLogsDir: join(folder, 'logs'),
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${cgroup}`,
  failSwapOn: false,
  localStorageCapacityIsolation: false,
  // A full disk of the machine is not what is tested.
  imageGCHighThresholdPercent: 100,
  evictionHard: { 'memory.available': '100Mi' },
  nodeStatusUpdateFrequency: '5s',
});
