import type { SimulatorDescription } from '../simulator.ts';

export const robotDescription: SimulatorDescription = {
  name: 'robot',
  about:
    'Bare servers at Hetzner: the Robot webservice over https, rescue over SSH, disks, firmware. --ssh-port PORT|any',
  flags: ['ssh-port'],
  hasMachines: true,
};
