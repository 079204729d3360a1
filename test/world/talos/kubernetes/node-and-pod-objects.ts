import { isIP } from 'node:net';
import type { ApiObject, KubeStore } from '../../kube/storage/store.ts';
import { allIpsOf, selectAddresses } from '../network/links.ts';
import type { TalosNode } from '../node.ts';
import { kubernetesVersion } from './component-image.ts';
import { type NodeCondition, nodeConditions } from './node-conditions.ts';

/** The Node that the kubelet writes when it registers and with each report (core/v1 Node). */
export function putNodeObject(node: TalosNode, store: KubeStore, ready: 'True' | 'False' = 'False'): void {
  const name = node.nodename;
  const old = store.get({ apiVersion: 'v1', kind: 'Node', name });
  const { conditions: before } = (old?.['status'] ?? {}) as { conditions?: NodeCondition[] };
  const spec = (old?.['spec'] as Record<string, unknown> | undefined) ?? newSpec(node);
  store.put({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...old?.metadata, name, ...nodeMetadata(node, old) },
    spec,
    status: {
      addresses: [
        ...kubeletNodeIps(node).map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: name },
      ],
      capacity: { cpu: String(node.machine.vcpus), memory: `${node.machine.memoryMiB * 1024}Ki`, pods: '110' },
      allocatable: {
        cpu: String(node.machine.vcpus),
        memory: `${(node.machine.memoryMiB - 256) * 1024}Ki`,
        pods: '110',
      },
      conditions: nodeConditions(ready, before),
      nodeInfo: {
        architecture: node.image.arch,
        bootID: node.bootId,
        containerRuntimeVersion: 'containerd://2.2.7',
        kernelVersion: '6.18.44-talos',
        kubeProxyVersion: '',
        kubeletVersion: `v${kubernetesVersion(node, 'kubelet')}`,
        machineID: node.nodeId.slice(0, 32),
        operatingSystem: 'linux',
        osImage: `Talos (v${node.image.version})`,
        systemUUID: node.machine.uuid,
      },
    },
  });
}

/** After a change of the configuration of a running node. */
export function updateNodeMetadata(node: TalosNode, store: KubeStore): void {
  const old = store.get({ apiVersion: 'v1', kind: 'Node', name: node.nodename });
  if (old && node.config) store.put({ ...old, metadata: { ...old.metadata, ...nodeMetadata(node, old) } });
}

/** The annotation in which Talos notes the labels that it has set (talos: controllers/k8s/node_apply.go). */
const ownedLabelsAnnotation = 'talos.dev/owned-labels';

/**
 * Labels of the configuration are removed from the Node with it. One that others have set to another value stays theirs.
 */
function nodeMetadata(
  node: TalosNode,
  old: ApiObject | undefined,
): Pick<ApiObject['metadata'], 'labels' | 'annotations'> {
  const { annotations: before = {}, labels: present = {} } = old?.metadata ?? {};
  const owned: string[] = JSON.parse(before[ownedLabelsAnnotation] ?? '[]');
  const others = Object.fromEntries(Object.entries(present).filter(([key]) => !owned.includes(key)));
  const wanted = labels(node);
  const configured = Object.keys(node.config?.view.kubernetes.labels ?? {})
    .filter((key) => wanted[key] !== undefined && (others[key] ?? wanted[key]) === wanted[key])
    .sort();
  const annotations = { ...before, ...node.config?.view.kubernetes.annotations };
  delete annotations[ownedLabelsAnnotation];
  return {
    labels: { ...wanted, ...others },
    annotations: {
      ...annotations,
      ...(configured.length > 0 ? { [ownedLabelsAnnotation]: JSON.stringify(configured) } : {}),
    },
  };
}

/** `providerID` and taints count at the first registration only. */
function newSpec(node: TalosNode): Record<string, unknown> {
  const view = node.config?.view;
  const providerId = view?.kubernetes.kubelet.args['provider-id']?.[0];
  const registered = view?.kubernetes.kubelet.extraConfig['registerWithTaints'];
  const taints = [
    ...(Array.isArray(registered) ? registered : []),
    // kubelet with --cloud-provider=external (kubelet_node_status.go).
    ...(view?.kubernetes.externalCloudProvider
      ? [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }]
      : []),
    ...(node.isControlPlane && !view?.kubernetes.schedulable
      ? [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }]
      : []),
    // Talos sets it with admin rights on control planes; NodeRestriction refuses it to the kubelet of a worker.
    ...(node.isControlPlane
      ? Object.entries(view?.kubernetes.taints ?? {}).map(([key, text]) => toTaint(key, text))
      : []),
  ];
  return { ...(providerId ? { providerID: providerId } : {}), ...(taints.length > 0 ? { taints } : {}) };
}

function toTaint(key: string, text: string): Record<string, string> {
  const [value = '', effect] = text.split(':');
  return effect === undefined ? { key, effect: value } : { key, value, effect };
}

/** NodeRestriction: a worker's kubelet may not give itself a role. */
function labels(node: TalosNode): Record<string, string> {
  const wanted = Object.entries(node.config?.view.kubernetes.labels ?? {});
  const allowed = wanted.filter(([key]) => node.isControlPlane || !key.startsWith('node-role.kubernetes.io/'));
  return {
    'beta.kubernetes.io/arch': node.image.arch,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': node.image.arch,
    'kubernetes.io/hostname': node.nodename,
    'kubernetes.io/os': 'linux',
    ...(node.isControlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
    ...Object.fromEntries(allowed),
  };
}

/**
 * The first address of each family that `kubelet.nodeIP.validSubnets` selects; by default the first of IPv4 (talos:
 * controllers/k8s/node_ip.go).
 */
export function kubeletNodeIps(node: TalosNode): string[] {
  const rules = node.config?.view.kubernetes.kubelet.validSubnets ?? [];
  const selected = selectAddresses(allIpsOf(node.links), rules);
  const firstOf = (family: number) => selected.find((ip) => isIP(ip) === family);
  return [firstOf(4), rules.length > 0 ? firstOf(6) : undefined].filter((ip) => ip !== undefined);
}
