import { createHash } from 'node:crypto';
import { request } from 'undici';
import { toImage } from '../boot/decide-boot.ts';
import type { InstalledSystem } from '../boot/disk-partitions.ts';
import { parseYaml } from '../config/config-view.ts';
import { fieldsAt, listAt, textAt } from '../config/fields.ts';
import type { TalosNode } from '../node.ts';

/** An image in a registry. */
export interface RemoteImage {
  /** `sha256:…` */
  readonly digest: string;
  readonly layers: readonly { readonly digest: string; readonly bytes: number }[];
  /** The system that an installer writes; undefined for any other image. */
  readonly system?: InstalledSystem;
}

/** The registry has no such image. */
export class ImageNotFound extends Error {}

/** Images of Kubernetes and Talos that are published for every version. */
const published =
  /^(?:registry\.k8s\.io\/(?:kube-(?:apiserver|controller-manager|scheduler|proxy)|coredns\/coredns|etcd|pause)|ghcr\.io\/siderolabs\/(?:kubelet|flannel)):v?\d+\.\d+(?:\.\d+)?(?:-[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/;
/** No release of Kubernetes has a larger minor version yet. */
const newestKubernetesMinor = 40;

/** Looks an image up in its registry. Throws {@link ImageNotFound}, or another error when the registry does not answer. */
export async function lookUpImage(node: TalosNode, reference: string, signal: AbortSignal): Promise<RemoteImage> {
  const isMissing = [...node.world.missingImages].some((part) => reference.includes(part));
  if (isMissing) throw notFound(reference);
  if (published.test(reference)) return publishedImage(reference);
  const installer =
    /^([^/]+)\/((?:[a-z]+-)?installer(?:-secureboot)?\/[0-9a-f]{64}):(v?\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(reference);
  if (!installer) throw notFound(reference);
  const [, host = '', path = '', tag = ''] = installer;
  return await lookUpInstaller({ host, path, tag, reference }, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
}

const notFound = (reference: string): ImageNotFound =>
  new ImageNotFound(`failed to pull image "${reference}": failed to resolve image: ${reference}: not found`);

function publishedImage(reference: string): RemoteImage {
  const minor = Number(/kube[^:]*:v1\.(\d+)/.exec(reference)?.[1] ?? '0');
  if (minor > newestKubernetesMinor) throw notFound(reference);
  const [tagged = '', pinned] = reference.split('@');
  const layers = [{ digest: sha256(`${tagged} layer`), bytes: 40_000_000 }];
  return { digest: pinned ?? sha256(tagged), layers };
}

interface InstallerPlace {
  readonly host: string;
  readonly path: string;
  readonly tag: string;
  readonly reference: string;
}

/**
 * Asks an image factory for the manifest and the configuration of an installer. The simulated factory is given by address
 * and uses plain HTTP; names are not resolved.
 */
async function lookUpInstaller({ host, path, tag, reference }: InstallerPlace, signal: AbortSignal) {
  const failed = (reason: string): Error => new Error(`failed to pull image "${reference}": ${reason}`);
  if (!/^(?:\d+(?:\.\d+){3}|localhost)(?::\d+)?$/.test(host)) throw failed(`dial tcp: lookup ${host}: no such host`);
  const get = async (what: string): Promise<{ text: string; digest: string | undefined }> => {
    const { statusCode, headers, body } = await request(`http://${host}/v2/${path}/${what}`, { signal }).catch(
      (error: unknown) => Promise.reject(failed(error instanceof Error ? error.message : String(error))),
    );
    const text = await body.text();
    if (statusCode === 404) throw new ImageNotFound(`failed to pull image "${reference}": ${text.trim()}: not found`);
    if (statusCode !== 200) throw failed(`unexpected status from GET request to ${what}: ${statusCode} ${text.trim()}`);
    return { text, digest: headers['docker-content-digest']?.toString() };
  };
  const { text, digest } = await get(`manifests/${tag}`);
  const manifest = parseYaml(text);
  const config = parseYaml((await get(`blobs/${textAt(manifest, 'config.digest')}`)).text);
  const layers = listAt(manifest, 'layers').map((layer) => ({
    digest: textAt(layer, 'digest'),
    bytes: Number(textAt(layer, 'size')),
  }));
  return { digest: digest ?? sha256(text), layers, system: toImage({ ...fieldsAt(config, 'talos') }) };
}

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
