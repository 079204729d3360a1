import type { Hosts } from '../../src/engine/host.ts';

/** For platforms whose machines are no Hosts: whoever asks for one is mistaken. */
export const noHosts: Hosts = {
  servers: () => new Set(),
  held: async () => undefined,
  claim: async () => ({ rejected: new Map() }),
  note: async () => {
    throw new Error('there are no Hosts');
  },
  release: async () => {},
};
