import type { SimulatorDescription } from '../simulator.ts';

export const kubeDescription: SimulatorDescription = {
  name: 'kube',
  about: 'A Kubernetes API server: CRDs, watches, server-side apply, RBAC; good enough for kubectl.',
};
