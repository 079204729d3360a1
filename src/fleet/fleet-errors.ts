/** There is no engaged cluster of this name. A reconcile that fails with it is not to be tried again. */
export class ClusterNotFoundError extends Error {
  override readonly name = 'ClusterNotFoundError';

  constructor(cluster: string) {
    super(`The fleet has no cluster "${cluster}".`);
  }
}
