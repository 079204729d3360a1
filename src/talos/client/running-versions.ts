import { isRecord, valueAt } from '../config/config-document.ts';
import { withoutLeadingV } from '../versions.ts';
import type { TalosClient } from './client.ts';
import type { TalosCallOptions } from './connection.ts';
import { resourceKinds, type TalosResource } from './resources.ts';

/** Versions of the components of a control plane, as far as the node runs them. */
export interface RunningComponents {
  readonly apiServer?: string;
  readonly controllerManager?: string;
  readonly scheduler?: string;
}

/** What runs on a node, as it reports it. */
export interface RunningVersions {
  readonly talosVersion: string;
  /** The id of the schematic that the boot image was made of. Undefined for an image that no factory has made. */
  readonly schematic?: string;
  /** Version of the kubelet; undefined until the node has defined it. */
  readonly kubernetesVersion?: string;
  readonly components?: RunningComponents;
}

/** The limits of the status of a Machine. What is longer is no version that a ProviderConfig can name. */
const maxVersionLength = 20;
const maxSchematicLength = 64;

const componentPods = {
  'kube-apiserver': 'apiServer',
  'kube-controller-manager': 'controllerManager',
  'kube-scheduler': 'scheduler',
} as const;

/** Talos version and schematic of the running system. */
export async function readRunningSystem(
  node: Pick<TalosClient, 'version' | 'listResources'>,
  options: TalosCallOptions = {},
): Promise<Pick<RunningVersions, 'talosVersion' | 'schematic'>> {
  const { version } = await node.version(options);
  const schematic = findSchematic(await node.listResources(resourceKinds.extension, options));
  return { talosVersion: version.slice(0, maxVersionLength), ...(schematic !== undefined && { schematic }) };
}

/** Everything that runs on the node. */
export async function readRunningVersions(
  node: Pick<TalosClient, 'version' | 'findResource' | 'listResources'>,
  role: 'controlplane' | 'worker',
  options: TalosCallOptions = {},
): Promise<RunningVersions> {
  const system = await readRunningSystem(node, options);
  const kubelet = await node.findResource(resourceKinds.kubelet, 'kubelet', options);
  const kubernetesVersion = imageVersion(valueAt(kubelet?.spec, 'image'));
  const pods = role === 'controlplane' ? await node.listResources(resourceKinds.staticPod, options) : [];
  const components: RunningComponents = Object.fromEntries(pods.flatMap(toComponent));
  return {
    ...system,
    ...(kubernetesVersion !== undefined && { kubernetesVersion }),
    ...(Object.keys(components).length > 0 && { components }),
  };
}

function findSchematic(extensions: readonly TalosResource[]): string | undefined {
  const found = extensions.find(({ spec }) => valueAt(spec, 'metadata.name') === 'schematic');
  const id = valueAt(found?.spec, 'metadata.version');
  return typeof id === 'string' && id !== '' ? id.slice(0, maxSchematicLength) : undefined;
}

function toComponent({ id, spec }: TalosResource): [string, string][] {
  const name = Object.entries(componentPods).find(([pod]) => pod === id)?.[1];
  const containers = valueAt(spec, 'spec.containers');
  const [container] = Array.isArray(containers) ? containers.filter(isRecord) : [];
  const version = imageVersion(container?.['image']);
  return name === undefined || version === undefined ? [] : [[name, version]];
}

/** `1.36.3` of `registry/kubelet:v1.36.3-fat@sha256:…`. */
function imageVersion(image: unknown): string | undefined {
  const [, version] =
    /:(v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)(?:-[a-z]+)?(?:@|$)/.exec(String(image ?? '')) ?? [];
  return version === undefined ? undefined : withoutLeadingV(version).slice(0, maxVersionLength);
}
