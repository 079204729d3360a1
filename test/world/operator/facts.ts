import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'operator',
  about: 'Plays the openMCP operator: schedules ClusterRequests, labels AccessRequests. Flags: --kubeconfig, --config.',
  flags: ['kubeconfig', 'config'],
};
