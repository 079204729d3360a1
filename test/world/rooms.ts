import { facts as imageFactory } from './image-factory/facts.ts';
import { facts as kube } from './kube/facts.ts';
import { facts as oidc } from './oidc/facts.ts';
import { facts as operator } from './operator/facts.ts';
import { facts as robot } from './robot/facts.ts';
import type { Room } from './room.ts';
import { facts as talos } from './talos/facts.ts';
import { facts as truenas } from './truenas/facts.ts';

/** Every room of the world, in the order in which they are started together. Each is loaded when it is started. */
export const rooms: readonly Room[] = [
  { ...kube, start: async (options) => await (await import('./kube/index.ts')).room.start(options) },
  { ...imageFactory, start: async (options) => await (await import('./image-factory/index.ts')).room.start(options) },
  { ...truenas, start: async (options) => await (await import('./truenas/index.ts')).room.start(options) },
  { ...robot, start: async (options) => await (await import('./robot/index.ts')).room.start(options) },
  { ...talos, start: async (options) => await (await import('./talos/index.ts')).room.start(options) },
  { ...oidc, start: async (options) => await (await import('./oidc/index.ts')).room.start(options) },
  { ...operator, start: async (options) => await (await import('./operator/index.ts')).room.start(options) },
];
