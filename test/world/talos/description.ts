import type { SimulatorDescription } from '../simulator.ts';

export const talosDescription: SimulatorDescription = {
  name: 'talos',
  about: 'One Talos node: its gRPC API in maintenance mode, or configured by the seed.',
};
