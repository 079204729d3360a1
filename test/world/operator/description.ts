import type { SimulatorDescription } from '../simulator.ts';

export const operatorDescription: SimulatorDescription = {
  name: 'operator',
  about: 'Plays the openMCP operator: schedules ClusterRequests, labels AccessRequests. Flags: --kubeconfig, --config.',
  flags: ['kubeconfig', 'config'],
};
