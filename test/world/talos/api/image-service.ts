import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  ContainerDriver,
  type ContainerdInstance,
  ContainerdNamespace as Namespace,
} from '../../../../src/talos/gen/common_pb.ts';
import {
  type ImageService,
  ImageServicePullLayerProgress_Status as LayerStatus,
} from '../../../../src/talos/gen/image_pb.ts';
import type { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { type ImageNamespace, listImages, pinnedName } from '../images/image-store.ts';
import { pullImage, pullQuietly } from '../images/pull-image.ts';
import { ImageNotFound } from '../images/registry.ts';
import type { TalosNode } from '../node.ts';
import { invalidArgumentError, unavailableError, unknownError } from './errors.ts';

/** The image service since Talos 1.13 (talos: internal/app/images/images.go). */
export function imageService(node: TalosNode): Partial<ServiceImpl<typeof ImageService>> {
  return {
    async *list(request) {
      for (const image of listImages(node, imageNamespaceOf(node, request.containerd))) {
        const { name, digest, bytes, pulledAt } = image;
        yield { name, digest, size: BigInt(bytes), createdAt: timestampFromDate(new Date(pulledAt)) };
      }
    },
    async *pull(request, { signal }) {
      const namespace = imageNamespaceOf(node, request.containerd);
      const reports = pullImage(node, { namespace, reference: request.imageRef, signal });
      for (;;) {
        const report = await reports.next().catch(throwPullError);
        if (report.done) {
          yield { response: { case: 'name' as const, value: pinnedName(report.value) } };
          return;
        }
        const { layer, status, offset, total } = report.value;
        const progress = { status: LayerStatus[status], offset: BigInt(offset), total: BigInt(total) };
        yield { response: { case: 'pullProgress' as const, value: { layerId: layer, progress } } };
      }
    },
  };
}

/** The pull of all versions of Talos, without progress (talos: v1alpha1_images.go). */
export function imagePullMethod(node: TalosNode): Pick<ServiceImpl<typeof MachineService>, 'imagePull'> {
  return {
    async imagePull({ namespace, reference }, { signal }) {
      const instance = { driver: ContainerDriver.CRI, namespace };
      const pull = { namespace: imageNamespaceOf(node, instance), reference, signal };
      await pullQuietly(node, pull).catch(throwPullError);
      return { messages: [{}] };
    },
  };
}

function throwPullError(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof ImageNotFound) throw new ConnectError(`error pulling image: ${reason}`, Code.NotFound);
  throw unknownError(reason);
}

/** The containerd of a request, if it exists and runs (talos: internal/app/internal/ctrhelper/ctrhelper.go). */
export function imageNamespaceOf(
  node: TalosNode,
  instance: Pick<ContainerdInstance, 'driver' | 'namespace'> | undefined,
): ImageNamespace {
  const { driver = ContainerDriver.CONTAINERD, namespace = Namespace.NS_UNKNOWN } = instance ?? {};
  if (namespace === Namespace.NS_UNKNOWN) throw invalidArgumentError('invalid containerd namespace NS_UNKNOWN');
  const isSystem = namespace === Namespace.NS_SYSTEM;
  if (driver === ContainerDriver.CONTAINERD) {
    if (!isSystem) throw invalidArgumentError('cannot use CRI namespace with containerd driver');
    return 'memory/system';
  }
  if (!node.services.up('cri')) {
    throw unavailableError(
      'error connecting to containerd: failed to dial "/run/containerd/containerd.sock": context deadline exceeded',
    );
  }
  return isSystem ? 'cri/system' : 'cri/k8s.io';
}
