import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'image-factory',
  about:
    'A Talos image factory: schematics, ISO and raw images, installer manifests. --file NAME=PATH gives an asset a file',
  flags: ['file'],
};
