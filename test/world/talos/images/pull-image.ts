import type { PulledImage } from '../boot/disk-partitions.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { findImage, type ImageNamespace, rememberImage } from './image-store.ts';
import { lookUpImage } from './registry.ts';

/** One report of the pull of a layer; the states are those of the API. */
export interface PullProgress {
  readonly layer: string;
  readonly status: 'DOWNLOADING' | 'DOWNLOAD_COMPLETE' | 'EXTRACTING' | 'EXTRACT_COMPLETE';
  readonly offset: number;
  readonly total: number;
}

export interface PullRequest {
  readonly namespace: ImageNamespace;
  readonly reference: string;
  /** Ends the pull: nothing is stored. */
  readonly signal: AbortSignal;
}

/**
 * Pulls an image unless the node has it, and yields the progress of each layer (talos: internal/app/images/images.go).
 * Throws as `lookUpImage`.
 */
export async function* pullImage(node: TalosNode, pull: PullRequest): AsyncGenerator<PullProgress, PulledImage> {
  const { namespace, reference } = pull;
  const known = findImage(node, namespace, reference);
  if (known) return known;
  const signal = AbortSignal.any([pull.signal, node.signal]);
  const { digest, layers, system } = await lookUpImage(node, reference, signal);
  const steps = 4;
  for (const { digest: layer, bytes: total } of layers) {
    for (let step = 1; step <= steps; step += 1) {
      yield { layer, status: 'DOWNLOADING', offset: Math.floor((total * step) / steps), total };
      await node.world.clock.sleep(timings.imagePull / steps / layers.length, signal);
    }
    for (const status of ['DOWNLOAD_COMPLETE', 'EXTRACTING', 'EXTRACT_COMPLETE'] as const)
      yield { layer, status, offset: total, total };
  }
  signal.throwIfAborted();
  const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
  const pulledAt = new Date().toISOString();
  const image = { namespace, name: reference, digest, bytes, pulledAt, ...(system ? { system } : {}) };
  rememberImage(node, image);
  return image;
}

/** Pulls without a listener. */
export async function pullQuietly(node: TalosNode, pull: PullRequest): Promise<PulledImage> {
  const reports = pullImage(node, pull);
  for (;;) {
    const report = await reports.next();
    if (report.done) return report.value;
  }
}

/** Pulls like the kubelet, again and again, until the image is there that is wanted by then; returns its reference. */
export async function awaitImage(node: TalosNode, namespace: ImageNamespace, wanted: () => string): Promise<string> {
  for (;;) {
    const reference = wanted();
    try {
      await pullQuietly(node, { namespace, reference, signal: node.signal });
      if (wanted() === reference) return reference;
    } catch (error) {
      node.log(`error pulling image: ${error instanceof Error ? error.message : String(error)}`);
      await node.sleep(timings.imageRetry);
    }
  }
}
