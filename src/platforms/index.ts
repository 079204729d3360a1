import type { Platform } from '../engine/platform.ts';
import { hetznerRobot } from './hetzner-robot/index.ts';
import { truenas } from './truenas/index.ts';

/** Every platform this provider knows. A new one is one word here. */
export const platforms: readonly Platform[] = [truenas, hetznerRobot];
