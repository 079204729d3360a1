/**
 * What `make` makes: the same again while somebody uses it or memory is plenty, and made anew after that. For what is large, and
 * cheap to make where it lies at rest most of the time.
 */
export function createWeakCache<T extends object>(make: () => T): () => T {
  let kept: WeakRef<T> | undefined;
  return () => {
    const known = kept?.deref();
    if (known) return known;
    const made = make();
    kept = new WeakRef(made);
    return made;
  };
}
