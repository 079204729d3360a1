import type { Platform } from '../engine/platform.ts';
import { external } from './external/index.ts';
import { hetznerRobot } from './hetzner-robot/index.ts';
import { truenas } from './truenas/index.ts';

/** The list of all platforms. A new platform is one more entry. */
export const platforms: readonly Platform[] = [truenas, hetznerRobot, external];
