import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ContainerdInstance } from '../../../../src/talos/gen/common_pb.ts';
import { ContainerDriver, ContainerdNamespace } from '../../../../src/talos/gen/common_pb.ts';
import {
  type ImageService,
  type LifecycleService,
  ImageServicePullLayerProgress_Status as Status,
} from '../../../../src/talos/gen/lifecycle_pb.ts';
import { findInstallDisk, type PulledInstaller, partition, pullInstaller, writeBoot } from '../installer.ts';
import type { Node } from '../node.ts';
import { publishSystemDisk } from '../publish.ts';
import { timings } from '../timings.ts';
import { installUpgrade } from '../upgrade.ts';
import { invalid, plain, tooEarly } from './errors.ts';

/** Images that were pulled and not removed, by containerd and reference. They are gone with the boot. */
const pulled = new WeakMap<Node, Map<string, PulledInstaller | undefined>>();
const busy = new WeakSet<Node>();

/** `machine.ImageService` (since Talos 1.13). */
export function imageService(node: Node): Partial<ServiceImpl<typeof ImageService>> {
  return {
    async *pull(request) {
      const place = placeOf(request.containerd, node);
      if (request.imageRef === '') throw invalid('image reference is required');
      const layerId = 'sha256:0000000000000000000000000000000000000000000000000000000000000001';
      const progress = (status: Status) => ({
        response: { case: 'pullProgress' as const, value: { layerId, progress: { status, offset: 0n, total: 100n } } },
      });
      yield progress(Status.DOWNLOADING);
      // Kubernetes images are not in the world: whoever pulls one gets it.
      const installer = /installer/.test(request.imageRef);
      const image = installer ? await orNotFound(() => pullInstaller(node, request.imageRef)) : undefined;
      await node.sleep(timings.install / 4);
      yield progress(Status.EXTRACT_COMPLETE);
      images(node).set(`${place} ${request.imageRef}`, image);
      yield { response: { case: 'name' as const, value: request.imageRef } };
    },
    async *list(request) {
      const place = placeOf(request.containerd, node);
      for (const key of images(node).keys()) {
        if (key.startsWith(`${place} `))
          yield { name: key.slice(place.length + 1), digest: '', size: 100n << 20n, labels: {} };
      }
    },
  };
}

/** `machine.LifecycleService` (since Talos 1.13). A failure is an exit code at the end of the stream, not an error of the call. */
export function lifecycleService(node: Node): Partial<ServiceImpl<typeof LifecycleService>> {
  return {
    async *install(request) {
      if (node.systemDisk) throw new ConnectError('Talos is already installed', Code.AlreadyExists);
      const image = source(node, request.containerd, request.source?.imageName ?? '');
      yield* alone(node, async () => {
        const disk = findInstallDisk(node);
        partition(disk.path);
        writeBoot(node, disk.path, image);
        publishSystemDisk(node);
        return undefined;
      });
    },
    async *upgrade(request) {
      if (!node.systemDisk) throw tooEarly('Talos is not installed');
      const image = source(node, request.containerd, request.source?.imageName ?? '');
      yield* alone(node, async () => installUpgrade(node, image));
    },
  };
}

async function* alone(node: Node, work: () => Promise<string | undefined>) {
  if (busy.has(node)) throw tooEarly('another lifecycle operation is in progress');
  busy.add(node);
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
    busy.delete(node);
  }
}

/** Only what was pulled into the same containerd before can be installed. */
function source(node: Node, containerd: ContainerdInstance | undefined, name: string): PulledInstaller {
  const place = placeOf(containerd, node);
  if (name === '') throw invalid('source image is required');
  const key = `${place} ${name}`;
  if (!images(node).has(key)) throw new ConnectError(`image "${name}": not found`, Code.NotFound);
  const image = images(node).get(key);
  if (!image) throw plain(`image "${name}" is not an installer`);
  return image;
}

function placeOf(containerd: ContainerdInstance | undefined, node: Node): string {
  if (!containerd) throw invalid('containerd instance is required');
  const { driver, namespace } = containerd;
  if (driver === ContainerDriver.CONTAINERD && namespace === ContainerdNamespace.NS_CRI) {
    throw invalid('unsupported containerd instance and namespace');
  }
  if (driver === ContainerDriver.CRI && !node.services.up('cri')) throw tooEarly('CRI is not running');
  return `${driver}/${namespace}`;
}

function images(node: Node): Map<string, PulledInstaller | undefined> {
  const known = pulled.get(node) ?? new Map<string, PulledInstaller | undefined>();
  pulled.set(node, known);
  return known;
}

async function orNotFound<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ConnectError(error instanceof Error ? error.message : String(error), Code.NotFound);
  }
}
