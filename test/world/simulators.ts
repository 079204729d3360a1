import { imageFactoryDescription as imageFactory } from './image-factory/description.ts';
import { kubeDescription as kube } from './kube/description.ts';
import { oidcDescription as oidc } from './oidc/description.ts';
import { operatorDescription as operator } from './operator/description.ts';
import { robotDescription as robot } from './robot/description.ts';
import type { Simulator } from './simulator.ts';
import { trueNasDescription as truenas } from './truenas/description.ts';

/** All simulators, in the order in which they start together. Each is loaded when it is started. */
export const simulators: readonly Simulator[] = [
  { ...kube, start: async (options) => await (await import('./kube/index.ts')).kubeSimulator.start(options) },
  {
    ...imageFactory,
    start: async (options) => await (await import('./image-factory/index.ts')).imageFactorySimulator.start(options),
  },
  { ...truenas, start: async (options) => await (await import('./truenas/index.ts')).trueNasSimulator.start(options) },
  { ...robot, start: async (options) => await (await import('./robot/index.ts')).robotSimulator.start(options) },
  { ...oidc, start: async (options) => await (await import('./oidc/index.ts')).oidcSimulator.start(options) },
  {
    ...operator,
    start: async (options) => await (await import('./operator/index.ts')).operatorSimulator.start(options),
  },
];
