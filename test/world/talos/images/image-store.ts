import type { PulledImage } from '../boot/disk-partitions.ts';
import { readEphemeral, writeEphemeral } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';

export type ImageNamespace = PulledImage['namespace'];

/** `host/path@sha256:…`: the other name of an image. */
export const pinnedName = ({ name, digest }: PulledImage): string =>
  `${(name.split('@')[0] ?? '').replace(/:[^:/]*$/, '')}@${digest}`;

const inMemory = new WeakMap<TalosNode, readonly PulledImage[]>();

export const listImages = (node: TalosNode, namespace: ImageNamespace): readonly PulledImage[] => {
  const all = namespace === 'memory/system' ? inMemory.get(node) : readEphemeral(node).images;
  return (all ?? []).filter((image) => image.namespace === namespace);
};

/** Finds an image by the reference of its pull or by its digest. */
export const findImage = (node: TalosNode, namespace: ImageNamespace, name: string): PulledImage | undefined =>
  listImages(node, namespace).find((image) => image.name === name || pinnedName(image) === name);

export function rememberImage(node: TalosNode, image: PulledImage): void {
  if (image.namespace === 'memory/system') inMemory.set(node, [...(inMemory.get(node) ?? []), image]);
  else writeEphemeral(node, { ...readEphemeral(node), images: [...(readEphemeral(node).images ?? []), image] });
}
