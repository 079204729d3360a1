import type { Machine } from '../../../../api/machine.ts';
import type { UpgradeHop } from '../target-version.ts';
import { components, isControlPlane, minorDistance, seenComponent, seenKubelet } from '../versions.ts';

/** How many minors a kubelet or kube-proxy may be older than an API server (the version skew policy of Kubernetes). */
const maxKubeletDistance = 3;

/**
 * Why the versions that run do not allow the next one, or what is not known of them. The policy of Kubernetes: API servers
 * are at most one minor apart, and so is everything that talks to them on a control plane; a kubelet is never newer.
 */
export function findSkewProblem({ to }: UpgradeHop, machines: readonly Machine[]): string | undefined {
  const problems = machines.flatMap((machine) => [
    ...(isControlPlane(machine) ? findComponentProblems(machine, to) : []),
    ...findKubeletProblem(machine, to),
  ]);
  return problems[0];
}

const problemNames = {
  apiServer: 'API server',
  controllerManager: 'controller manager',
  scheduler: 'scheduler',
  proxy: 'kube-proxy',
} as const;

function findComponentProblems(machine: Machine, to: string): string[] {
  return components.flatMap((component) => {
    const version = seenComponent(machine, component);
    const limit = component === 'proxy' ? maxKubeletDistance : 1;
    return version === undefined
      ? []
      : describeDistance(`the ${problemNames[component]} of ${machine.metadata.name}`, version, { to, limit });
  });
}

function findKubeletProblem(machine: Machine, to: string): string[] {
  const version = seenKubelet(machine);
  if (version === undefined) return [];
  return describeDistance(`the kubelet of ${machine.metadata.name}`, version, { to, limit: maxKubeletDistance });
}

function describeDistance(what: string, version: string, { to, limit }: { to: string; limit: number }): string[] {
  const distance = minorDistance(version, to);
  if (distance < 0) return [`${what} runs ${version}, which is newer.`];
  return distance > limit
    ? [`${what} runs ${version}, more than ${limit === 1 ? 'one minor' : `${limit} minors`} before it.`]
    : [];
}

/** The first machine whose versions are not known yet. */
export const findUnseenMachine = (machines: readonly Machine[]): Machine | undefined =>
  machines.find(
    (machine) =>
      seenKubelet(machine) === undefined ||
      (isControlPlane(machine) && seenComponent(machine, 'apiServer') === undefined),
  );
