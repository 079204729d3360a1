/**
 * What a change of a running node needs, from least to most. `live`: it takes effect without interruption.
 * `kubernetes`: a component of Kubernetes restarts in another version. `restart`: the node restarts. `os`: an upgrade of
 * Talos. `hardware`: the machine is off while it is changed. `replace`: another machine takes its place. `refused`: it
 * cannot be made at all.
 */
export const changeClasses = ['live', 'kubernetes', 'restart', 'os', 'hardware', 'replace', 'refused'] as const;
export type ChangeClass = (typeof changeClasses)[number];

/** The class of several changes: the one that needs most. Undefined without changes. */
export const highestClass = (changes: readonly { readonly class: ChangeClass }[]): ChangeClass | undefined =>
  changeClasses.findLast((name) => changes.some((change) => change.class === name));

/**
 * The classes that the steps of the plan `update` carry out on a running node, so that a rollout may release them. The
 * others are reported and hold up nothing.
 */
export const updatableClasses: ReadonlySet<ChangeClass> = new Set<ChangeClass>([
  'live',
  'kubernetes',
  'restart',
  'os',
  'hardware',
]);
