import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'robot',
  about:
    'Bare servers at Hetzner: the Robot webservice over https, rescue over SSH, disks, firmware. --ssh-port PORT|any',
  flags: ['ssh-port'],
  hasMachines: true,
};
