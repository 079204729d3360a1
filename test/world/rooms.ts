import { room as imageFactory } from './image-factory/index.ts';
import { room as kube } from './kube/index.ts';
import { room as operator } from './operator/index.ts';
import type { Room } from './room.ts';
import { room as talos } from './talos/index.ts';
import { room as truenas } from './truenas/index.ts';

/** Every room of the world, in the order in which they are started together. */
export const rooms: readonly Room[] = [kube, imageFactory, truenas, talos, operator];
