import type { RoomFacts } from '../room.ts';

export const facts: RoomFacts = {
  name: 'kube',
  about: 'A Kubernetes API server: CRDs, watches, server-side apply, RBAC; good enough for kubectl.',
};
