import semver from 'semver';
import type { ComponentVersions, Machine, MachineSpec } from '../../../api/machine.ts';

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
export const runsAtLeast = (version: string | undefined, wanted: string): boolean =>
  version !== undefined && isVersion(version) && isVersion(wanted) && semver.gte(version, wanted);

export const isControlPlane = ({ spec }: { readonly spec: Pick<MachineSpec, 'role'> }): boolean =>
  spec.role === 'controlplane';

/** The version of a component that the Machine is to have. */
export const desiredComponent = ({ spec }: Pick<Machine, 'spec'>, component: Component): string =>
  spec.components?.[component] ?? spec.kubernetesVersion;

/** The version of a component that was seen on the node; undefined if it was not seen yet. */
export const seenComponent = ({ status }: Machine, component: Component): string | undefined =>
  status?.applied?.components?.[component];

export const seenKubelet = ({ status }: Machine): string | undefined => status?.applied?.kubernetesVersion;

/** The versions of the API servers that were seen, newest first. */
const seenApiServers = (machines: readonly Machine[]): string[] =>
  machines
    .filter(isControlPlane)
    .flatMap((machine) => seenComponent(machine, 'apiServer') ?? [])
    .filter(isVersion)
    .sort(semver.rcompare);

/** The newest version that an API server of the cluster was seen with. */
export const newestApiServer = (machines: readonly Machine[]): string | undefined => seenApiServers(machines)[0];

/** The oldest one, and whether there are several. */
export function oldestApiServer(machines: readonly Machine[]): {
  readonly oldest: string | undefined;
  readonly isMixed: boolean;
} {
  const versions = seenApiServers(machines);
  return { oldest: versions.at(-1), isMixed: new Set(versions).size > 1 };
}
