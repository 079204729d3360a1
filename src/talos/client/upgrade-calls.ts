import { ProviderError } from '../../lib/errors.ts';
import { ContainerDriver, ContainerdNamespace } from '../gen/common_pb.ts';
import { ImageService } from '../gen/image_pb.ts';
import { LifecycleService, type LifecycleServiceUpgradeResponse } from '../gen/lifecycle_pb.ts';
import { MachineService, UpgradeRequest_RebootMode as UpgradeRebootMode } from '../gen/machine_pb.ts';
import type { TalosCallOptions, TalosConnection } from './connection.ts';
import { redact } from './errors.ts';
import { talosLimits } from './limits.ts';

/** `system`: images of Talos itself, of the kubelet and of etcd. `kubernetes`: images of Pods. */
export type ImageNamespace = 'system' | 'kubernetes';

/** How a node with Talos 1.13 or later has ended an upgrade of its disk. */
export type UpgradeResult =
  | { readonly kind: 'written' }
  /** `isPermanent`: the same call cannot succeed. Only Talos 1.14 and later distinguish that. */
  | { readonly kind: 'failed'; readonly message: string; readonly isPermanent: boolean };

/** The calls that change the version of a node, and the images that it needs for that. */
export interface UpgradeCalls {
  /**
   * Pulls an image, since Talos 1.13, and returns its name on the node, with its digest. A present image is not pulled
   * again. Throws TALOS_UNSUPPORTED before.
   */
  pullImage(image: string, namespace: ImageNamespace, options?: TalosCallOptions): Promise<string>;
  /** Pulls an image with the call of Talos before 1.13. */
  pullImageLegacy(image: string, namespace: ImageNamespace, options?: TalosCallOptions): Promise<void>;
  /**
   * Writes a pulled installer, by the name of the pull, to the other boot slot, since Talos 1.13. The node keeps running, neither drained nor
   * restarted, and boots the new system with its next start. Throws TALOS_NOT_READY while another upgrade runs, and
   * TALOS_NOT_FOUND if the image was not pulled.
   */
  writeSystem(installer: string, options?: TalosCallOptions): Promise<UpgradeResult>;
  /**
   * The call of Talos before 1.13: the node pulls the installer, stops its Pods, writes the system and restarts. It
   * returns when the sequence begins, so it proves nothing.
   */
  upgradeLegacy(installer: string, options?: TalosCallOptions): Promise<void>;
}

/** Images have up to some hundred megabytes, and an image factory builds an installer on its first request. */
const pullSeconds = 600;
/** The installer writes a boot image of about 200 MiB, on slow disks. */
const writeSeconds = 600;

/** Exit codes of the installer since 1.14 that stand for an invalid or unsupported request. */
const permanentExitCodes = [2, 3];
/** Progress messages that are kept in order to describe a failure. */
const maxMessages = 10_000;

const namespaces = { system: ContainerdNamespace.NS_SYSTEM, kubernetes: ContainerdNamespace.NS_CRI } as const;
const containerdOf = (namespace: ImageNamespace) => ({ driver: ContainerDriver.CRI, namespace: namespaces[namespace] });

export const createUpgradeCalls = (connection: TalosConnection): UpgradeCalls => ({
  pullImage: async (image, namespace, options = {}) => {
    const slow = { ...options, seconds: pullSeconds };
    const request = { containerd: containerdOf(namespace), imageRef: image };
    return await connection.call(ImageService, 'ImagePull', slow, async (client, call) => {
      // The stream ends with the name. A failure is an error of the call.
      let name = '';
      for await (const { response } of client.pull(request, call)) if (response.case === 'name') name = response.value;
      return name;
    });
  },
  pullImageLegacy: async (image, namespace, options = {}) => {
    const slow = { ...options, seconds: pullSeconds };
    const request = { namespace: namespaces[namespace], reference: image };
    await connection.call(MachineService, 'ImagePull', slow, (client, call) => client.imagePull(request, call));
  },
  writeSystem: (installer, options = {}) => {
    const slow = { ...options, seconds: writeSeconds };
    const request = { containerd: containerdOf('system'), source: { imageName: installer } };
    return connection.call(LifecycleService, 'Upgrade', slow, async (client, call) =>
      readUpgradeResult(connection, client.upgrade(request, call)),
    );
  },
  upgradeLegacy: async (installer, options = {}) => {
    const slow = { ...options, seconds: pullSeconds };
    // Without `preserve`, 1.12 refuses the upgrade of one of two members of etcd. It keeps all data in any case.
    const request = { image: installer, preserve: true, rebootMode: UpgradeRebootMode.DEFAULT };
    await connection.call(MachineService, 'Upgrade', slow, (client, call) => client.upgrade(request, call));
  },
});

/** The installer reports on its progress in lines. The last one names the failure. */
function toUpgradeResult(exitCode: number, output: string): UpgradeResult {
  if (exitCode === 0) return { kind: 'written' };
  const last = redact(output.split('\n').at(-1) ?? '');
  const message = `The installer ended with exit code ${exitCode}${last === '' ? '' : `: ${last}`}.`;
  return { kind: 'failed', message, isPermanent: permanentExitCodes.includes(exitCode) };
}

/**
 * A failure is an exit code at the end of the stream, and not an error of the call. The stream is read to its end: the
 * timer of a stream that is left earlier runs on until the deadline of the call, and holds up the end of the process.
 */
async function readUpgradeResult(
  { address }: TalosConnection,
  answers: AsyncIterable<LifecycleServiceUpgradeResponse>,
): Promise<UpgradeResult> {
  let last = '';
  let count = 0;
  let result: UpgradeResult | undefined;
  for await (const { progress } of answers) {
    const response = progress?.response;
    if (response?.case === 'exitCode') result ??= toUpgradeResult(response.value, last);
    if (response?.case === 'message') last = response.value.slice(0, talosLimits.fileBytes).trim() || last;
    count += 1;
    if (count > maxMessages) break;
  }
  if (result) return result;
  throw new ProviderError('TALOS_CALL_FAILED', `${address}: the upgrade ended without an exit code.`);
}
