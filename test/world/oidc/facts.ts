import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'oidc',
  about: 'An OIDC issuer: discovery, keys that rotate, and tokens for whomever one asks (POST to credentials.tokens)',
};
