import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'talos',
  about: 'One Talos node: its gRPC API in maintenance mode, or configured by the seed.',
};
