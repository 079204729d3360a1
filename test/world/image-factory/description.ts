import type { SimulatorDescription } from '../simulator.ts';

export const imageFactoryDescription: SimulatorDescription = {
  name: 'image-factory',
  about:
    'A Talos image factory: schematics, ISO and raw images, installer manifests. --file NAME=PATH gives an asset a file',
  flags: ['file'],
};
