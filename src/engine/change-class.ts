/**
 * What a change of a running node needs, from least to most. `live`: it takes effect without interruption. `restart`:
 * the node or a component of its control plane restarts. `os`: an upgrade of Talos. `kubernetes`: an upgrade of
 * Kubernetes.
 */
export const changeClasses = ['live', 'restart', 'os', 'kubernetes'] as const;
export type ChangeClass = (typeof changeClasses)[number];

/** The class of several changes: the one that needs most. Undefined without changes. */
export const highestClass = (changes: readonly { readonly class: ChangeClass }[]): ChangeClass | undefined =>
  changeClasses.findLast((name) => changes.some((change) => change.class === name));
