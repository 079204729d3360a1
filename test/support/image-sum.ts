import { createHash } from 'node:crypto';
import type { Schematic } from '../../src/engine/platform.ts';
import { canonicalSchematic } from '../../src/talos/schematic.ts';
import { buildAsset, findAsset } from '../world/image-factory/assets.ts';
import { readSchematic } from '../world/image-factory/schematic.ts';

/**
 * SHA-256 of the image that a simulated factory gives for bare servers, as people would pin it. No request is made:
 * sweeps count those of the provider.
 */
export function metalImageSum(version: string, schematic: Schematic): string {
  const asset = findAsset('metal-amd64.raw.zst');
  if (!asset) throw new Error('the simulated factory has no disk image for bare servers');
  const image = buildAsset(asset, readSchematic(canonicalSchematic(schematic)), version);
  return createHash('sha256').update(image).digest('hex');
}
