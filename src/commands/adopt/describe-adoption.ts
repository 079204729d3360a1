import type { CommandOutput } from '../output/output-schemas.ts';
import type { Adoption } from './write-adoption.ts';
import { planMachines } from './write-adoption.ts';

/** What was found, and what would be created. */
export function describeAdoption({ target, found }: Adoption): string {
  const { namespace, name } = target.cluster.metadata;
  const { nodes, endpoint, kubernetesVersion, unnamed } = found;
  const width = Math.max(...nodes.map((node) => node.name.length));
  const created = planMachines(target, found).map(({ metadata }) => metadata.name);
  return [
    `Cluster ${namespace}/${name}: Kubernetes ${kubernetesVersion} at ${endpoint}. The nodes are managed by ${target.managedBy}, and stay as they are.`,
    ...nodes.map(
      (node) =>
        `  ${node.name.padEnd(width)}  ${node.role}  ${node.address}  Talos ${node.talosVersion}  kubelet ${node.kubernetesVersion}`,
    ),
    created.length > 0 ? `To be created: Machines ${created.join(', ')}.` : 'All Machines exist.',
    ...(unnamed.length > 0 ? [`Not named, and so not reported: ${unnamed.join(', ')}.`] : []),
  ].join('\n');
}

/** The same for programs. `created`: what the command has written. */
export function toAdoptOutput(
  { target, found }: Adoption,
  isAdopted: boolean,
  created: readonly string[],
): CommandOutput<'adopt'> {
  const { namespace = '', name } = target.cluster.metadata;
  const { endpoint, kubernetesVersion } = found;
  return {
    ...{ namespace, name, isAdopted, endpoint, kubernetesVersion },
    nodes: found.nodes.map((node) => ({
      ...{ name: node.name, role: node.role, address: node.address },
      ...{ talosVersion: node.talosVersion, kubernetesVersion: node.kubernetesVersion },
    })),
    machines: planMachines(target, found).map(({ metadata }) => metadata.name),
    unnamed: [...found.unnamed],
    created: [...created],
  };
}
