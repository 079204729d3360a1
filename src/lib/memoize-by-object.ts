/** A function of immutable objects whose result is computed once for each object. An error is not kept. */
export function memoizeByObject<K extends object, V extends string | object>(
  compute: (object: K) => V,
): (object: K) => V {
  const results = new WeakMap<K, V>();
  return (object) => {
    const result = results.get(object) ?? compute(object);
    results.set(object, result);
    return result;
  };
}
