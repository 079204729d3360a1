/**
 * The value that `make` creates: cached while a caller uses it or memory is plenty, and created again after that. For
 * large values that are cheap to create and unused most of the time.
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
