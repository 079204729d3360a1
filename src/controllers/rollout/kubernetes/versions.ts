import semver from 'semver';
import type { ComponentVersions, Machine } from '../../../api/machine.ts';

/** The components whose versions change, in the order of an upgrade. */
export const components = [
  'apiServer',
  'controllerManager',
  'scheduler',
  'proxy',
] as const satisfies readonly (keyof ComponentVersions)[];
export type Component = (typeof components)[number];

/** How many minors `to` is after `from`; negative: before. A different major counts as very far. */
export function minorDistance(from: string, to: string): number {
  const [a, b] = [semver.parse(from), semver.parse(to)];
  if (!a || !b) return Number.POSITIVE_INFINITY;
  return (b.major - a.major) * 1000 + b.minor - a.minor;
}

export const newerVersion = (a: string, b: string): string => (semver.gt(b, a) ? b : a);
export const olderVersion = (a: string, b: string): string => (semver.lt(b, a) ? b : a);

export const isVersion = (text: string): boolean => semver.valid(text) !== null;

/** Whether a version was reached. An invalid one was not. */
export const hasReached = (version: string | undefined, wanted: string): boolean =>
  version !== undefined && isVersion(version) && isVersion(wanted) && semver.gte(version, wanted);

export const isControlPlane = ({ spec }: Pick<Machine, 'spec'>): boolean => spec.role === 'controlplane';

/** The version of a component that the Machine is to have. */
export const desiredComponent = ({ spec }: Pick<Machine, 'spec'>, component: Component): string =>
  spec.components?.[component] ?? spec.kubernetesVersion;

/** The version of a component that was seen on the node; undefined if it was not seen yet. */
export const seenComponent = ({ status }: Machine, component: Component): string | undefined =>
  status?.applied?.components?.[component];

export const seenKubelet = ({ status }: Machine): string | undefined => status?.applied?.kubernetesVersion;

/** The newest version that an API server of the cluster was seen with. */
export const newestApiServer = (machines: readonly Machine[]): string | undefined =>
  machines
    .filter(isControlPlane)
    .flatMap((machine) => seenComponent(machine, 'apiServer') ?? [])
    .filter(isVersion)
    .sort(semver.rcompare)[0];
