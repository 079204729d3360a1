import semver from 'semver';
import { checkVersions, minorOf } from './versions.ts';

/** An upgrade of one node. */
export interface TalosUpgrade {
  /** The version that the node runs. */
  readonly running: string;
  readonly desired: string;
  /** The version that its kubelet is to have. */
  readonly kubernetesVersion: string;
}

/**
 * Why a node cannot be brought from one version to the other, with the remedy. Talos itself accepts more, but only
 * upgrades from one minor to the next are tested, and a downgrade of a minor may meet data of etcd and a configuration
 * that it cannot read.
 */
export function findUpgradeProblem({ running, desired, kubernetesVersion }: TalosUpgrade): string | undefined {
  const [from, to] = [semver.parse(running), semver.parse(desired)];
  if (!from || !to) return undefined;
  const step = (to.major - from.major) * 1000 + to.minor - from.minor;
  if (step > 1)
    return `Talos is upgraded by one minor at a time, and the node runs ${running}. Set talos.version to a release of ${from.major}.${from.minor + 1} first.`;
  if (step < 0)
    return `The node runs Talos ${running}, which cannot be downgraded to ${desired}. Set talos.version to a release of ${minorOf(running)}.`;
  if (kubernetesVersion === '' || checkVersions(desired, [kubernetesVersion]).length === 0) return undefined;
  return `Talos ${desired} does not run Kubernetes ${kubernetesVersion} of the cluster. Upgrade Kubernetes first, or set talos.version to a release of ${minorOf(running)}.`;
}
