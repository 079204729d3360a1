import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ContainerdInstance } from '../../../../src/talos/gen/common_pb.ts';
import { ContainerDriver, ContainerdNamespace } from '../../../../src/talos/gen/common_pb.ts';
import {
  type ImageService,
  type LifecycleService,
  ImageServicePullLayerProgress_Status as Status,
} from '../../../../src/talos/gen/lifecycle_pb.ts';
import {
  createPartitionTable,
  findInstallDisk,
  type PulledInstaller,
  pullInstaller,
  writeBootPartition,
} from '../boot/installer.ts';
import { installUpgrade } from '../boot/upgrade.ts';
import type { TalosNode } from '../node.ts';
import { publishSystemDisk } from '../state/publish-resources.ts';
import { timings } from '../timings.ts';
import { failedPreconditionError, invalidArgumentError, unknownError } from './errors.ts';

/** Pulled images that were not removed, by containerd and reference. The end of the boot removes them. */
const pulledImages = new WeakMap<TalosNode, Map<string, PulledInstaller | undefined>>();
const nodesInstalling = new WeakSet<TalosNode>();

/** `machine.ImageService` (since Talos 1.13). */
export function imageService(node: TalosNode): Partial<ServiceImpl<typeof ImageService>> {
  return {
    async *pull(request) {
      const place = containerdKey(request.containerd, node);
      if (request.imageRef === '') throw invalidArgumentError('image reference is required');
      const layerId = 'sha256:0000000000000000000000000000000000000000000000000000000000000001';
      const progress = (status: Status) => ({
        response: { case: 'pullProgress' as const, value: { layerId, progress: { status, offset: 0n, total: 100n } } },
      });
      yield progress(Status.DOWNLOADING);
      // Kubernetes images are not simulated: every pull of one succeeds.
      const installer = /installer/.test(request.imageRef);
      const image = installer ? await asNotFound(() => pullInstaller(node, request.imageRef)) : undefined;
      await node.sleep(timings.install / 4);
      yield progress(Status.EXTRACT_COMPLETE);
      pulledImagesOf(node).set(`${place} ${request.imageRef}`, image);
      yield { response: { case: 'name' as const, value: request.imageRef } };
    },
    async *list(request) {
      const place = containerdKey(request.containerd, node);
      for (const key of pulledImagesOf(node).keys()) {
        if (key.startsWith(`${place} `))
          yield { name: key.slice(place.length + 1), digest: '', size: 100n << 20n, labels: {} };
      }
    },
  };
}

/**
 * `machine.LifecycleService` (since Talos 1.13). A failure is an exit code at the end of the stream, not an error of
 * the call.
 */
export function lifecycleService(node: TalosNode): Partial<ServiceImpl<typeof LifecycleService>> {
  return {
    async *install(request) {
      if (node.systemDisk) throw new ConnectError('Talos is already installed', Code.AlreadyExists);
      const image = requirePulled(node, request.containerd, request.source?.imageName ?? '');
      yield* exclusively(node, async () => {
        const disk = findInstallDisk(node);
        createPartitionTable(disk.path);
        writeBootPartition(node, disk.path, image);
        publishSystemDisk(node);
        return undefined;
      });
    },
    async *upgrade(request) {
      if (!node.systemDisk) throw failedPreconditionError('Talos is not installed');
      const image = requirePulled(node, request.containerd, request.source?.imageName ?? '');
      yield* exclusively(node, async () => installUpgrade(node, image));
    },
  };
}

async function* exclusively(node: TalosNode, work: () => Promise<string | undefined>) {
  if (nodesInstalling.has(node)) throw failedPreconditionError('another lifecycle operation is in progress');
  nodesInstalling.add(node);
  try {
    const say = (value: string) => ({ progress: { response: { case: 'message' as const, value } } });
    const end = (value: number) => ({ progress: { response: { case: 'exitCode' as const, value } } });
    yield say('running Talos installer');
    await node.sleep(timings.install / 4);
    const fault = node.world.switchboard.pass('talos', 'installer', { node: node.machine.name });
    const problem = fault ? 'failed to write the boot loader' : await work().catch((error: unknown) => String(error));
    yield say(problem ?? 'installation complete');
    yield end(problem === undefined ? 0 : 1);
  } finally {
    nodesInstalling.delete(node);
  }
}

/** Only an image that was pulled into the same containerd before can be installed. */
function requirePulled(node: TalosNode, containerd: ContainerdInstance | undefined, name: string): PulledInstaller {
  const place = containerdKey(containerd, node);
  if (name === '') throw invalidArgumentError('source image is required');
  const key = `${place} ${name}`;
  if (!pulledImagesOf(node).has(key)) throw new ConnectError(`image "${name}": not found`, Code.NotFound);
  const image = pulledImagesOf(node).get(key);
  if (!image) throw unknownError(`image "${name}" is not an installer`);
  return image;
}

function containerdKey(containerd: ContainerdInstance | undefined, node: TalosNode): string {
  if (!containerd) throw invalidArgumentError('containerd instance is required');
  const { driver, namespace } = containerd;
  if (driver === ContainerDriver.CONTAINERD && namespace === ContainerdNamespace.NS_CRI) {
    throw invalidArgumentError('unsupported containerd instance and namespace');
  }
  if (driver === ContainerDriver.CRI && !node.services.up('cri')) throw failedPreconditionError('CRI is not running');
  return `${driver}/${namespace}`;
}

function pulledImagesOf(node: TalosNode): Map<string, PulledInstaller | undefined> {
  const known = pulledImages.get(node) ?? new Map<string, PulledInstaller | undefined>();
  pulledImages.set(node, known);
  return known;
}

async function asNotFound<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ConnectError(error instanceof Error ? error.message : String(error), Code.NotFound);
  }
}
