import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { readRunningVersions } from '../client/running-versions.ts';
import type { ImageNamespace } from '../client/upgrade-calls.ts';
import { listImages } from '../config/compare/list-images.ts';
import { isAtLeastMinor } from '../versions.ts';
import { hasDesiredSystem } from './compare-node.ts';
import { hasUnwantedSystem, type UpdateStepContext } from './update-context.ts';

/** Pulls what the update needs: the installer, and the images of Kubernetes if a version of it changes. */
export async function pullImages(
  client: TalosClient,
  { desired, facts, node: { role } }: UpdateStepContext,
  options: TalosCallOptions,
): Promise<void> {
  const running = await readRunningVersions(client, role, options);
  const pull = (image: string, namespace: ImageNamespace): Promise<string> =>
    pullImage({ client, talosVersion: running.talosVersion, options }, image, namespace);
  const isUnwanted = hasUnwantedSystem(facts, desired, await client.bootId(options));
  if (isUnwanted || !hasDesiredSystem(running, desired)) await pull(desired.installer, 'system');
  const { apiServer, controllerManager, scheduler } = running.components ?? {};
  const versions = [running.kubernetesVersion, apiServer, controllerManager, scheduler];
  for (const { image, version, isKubelet } of listImages(desired.configuration, role))
    if (versions.some((one) => one !== undefined && one !== version))
      await pull(image, isKubelet ? 'system' : 'kubernetes');
}

interface PullContext {
  readonly client: TalosClient;
  /** The version that the node runs. */
  readonly talosVersion: string;
  readonly options: TalosCallOptions;
}

/** The name of the image on the node; that of Talos before 1.13 does not matter. */
export async function pullImage(
  { client, talosVersion, options }: PullContext,
  image: string,
  namespace: ImageNamespace,
): Promise<string> {
  try {
    if (isAtLeastMinor(talosVersion, '1.13')) return await client.pullImage(image, namespace, options);
    await client.pullImageLegacy(image, namespace, options);
    return image;
  } catch (error) {
    // The node does not answer, or not yet.
    if (!(error instanceof ProviderError) || /^TALOS_(UNREACHABLE|NOT_READY|FOREIGN_NODE)$/.test(error.code))
      throw error;
    throw new ProviderError('TALOS_IMAGE_NOT_PULLED', `${image}: ${error.message}`, { cause: error });
  }
}
