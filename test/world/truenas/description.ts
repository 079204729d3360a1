import type { SimulatorDescription } from '../simulator.ts';

export const trueNasDescription: SimulatorDescription = {
  name: 'truenas',
  about:
    'A TrueNAS: JSON-RPC over wss, /_upload, /_download, pools, zvols and virtual machines. --version 25.04.2|25.10|26; --machine-runner COMMAND runs machines',
  flags: ['version', 'machine-runner'],
  hasMachines: true,
};
